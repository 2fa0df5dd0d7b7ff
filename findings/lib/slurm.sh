# SPDX-License-Identifier: BSD-3-Clause
# Source this: unpacks Slurm's client tools of Debian 12 in a temporary folder, and enters it. There is no controller.
#   scontrol ...    runs scontrol of that folder
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download slurm-client=22.05.8-4+deb12u3 slurm-wlm-basic-plugins=22.05.8-4+deb12u3 2>/dev/null ||
    { echo "cannot download the packages"; exit 2; }
for package in *.deb; do dpkg -x "$package" root; done
printf 'ClusterName=finding\nSlurmctldHost=localhost\n' > slurm.conf
export SLURM_CONF=$folder/slurm.conf
unset SLURM_JOB_NODELIST
scontrol() {
    LD_LIBRARY_PATH=$folder/root/usr/lib/x86_64-linux-gnu/slurm-wlm timeout 20 "$folder/root/usr/bin/scontrol" "$@" < /dev/null
}
scontrol --version || { echo "cannot run scontrol"; exit 2; }

# Fail: what this script states is no longer so.
changed() { echo "CHANGED: $1"; exit 1; }
