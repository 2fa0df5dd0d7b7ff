# SPDX-License-Identifier: BSD-3-Clause
# Source this: unpacks Slurm of Debian 12 in a temporary folder, and enters it.
#   scontrol ...    runs scontrol of that folder; so do sinfo, squeue and scancel
#   controller      starts a slurmctld of nodes n1 to n4 without their slurmd, and waits until it answers
set -euo pipefail
folder=$(mktemp -d)
controller_pid=
trap '[ -z "$controller_pid" ] || { kill "$controller_pid" && wait "$controller_pid"; } 2>/dev/null; rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download slurm-client=22.05.8-4+deb12u3 slurm-wlm-basic-plugins=22.05.8-4+deb12u3 \
    slurmctld=22.05.8-4+deb12u3 2>/dev/null ||
    { echo "cannot download the packages"; exit 2; }
for package in *.deb; do dpkg -x "$package" root; done
printf 'ClusterName=finding\nSlurmctldHost=localhost\n' > slurm.conf
export SLURM_CONF=$folder/slurm.conf
unset SLURM_JOB_NODELIST
plugins=$folder/root/usr/lib/x86_64-linux-gnu/slurm-wlm
of_slurm() { LD_LIBRARY_PATH=$plugins timeout 20 "$folder/root/usr/bin/$1" "${@:2}" < /dev/null; }
scontrol() { of_slurm scontrol "$@"; }
sinfo() { of_slurm sinfo "$@"; }
squeue() { of_slurm squeue "$@"; }
scancel() { of_slurm scancel "$@"; }
controller() {
    mkdir state
    cat > slurm.conf <<CONF
ClusterName=finding
SlurmctldHost=localhost
SlurmctldPort=$((20000 + $$ % 20000))
SlurmUser=$(id -un)
AuthType=auth/none
CredType=cred/none
PluginDir=$plugins
StateSaveLocation=$folder/state
SlurmctldPidFile=$folder/slurmctld.pid
ProctrackType=proctrack/pgid
NodeName=n[1-4] NodeHostname=localhost Port=[18001-18004] CPUs=2
PartitionName=batch Nodes=n[1-4] Default=YES State=UP
CONF
    LD_LIBRARY_PATH=$plugins "$folder/root/usr/sbin/slurmctld-wlm" -D -c > slurmctld.log 2>&1 &
    controller_pid=$!
    for _ in $(seq 40); do
        kill -0 "$controller_pid" || break
        grep -q "Running as primary" slurmctld.log && sinfo > /dev/null 2>&1 && return
        sleep 0.5
    done
    cat slurmctld.log
    echo "slurmctld does not start"
    exit 2
}
scontrol --version || { echo "cannot run scontrol"; exit 2; }

# Fail: what this script states is no longer so.
changed() { echo "CHANGED: $1"; exit 1; }
