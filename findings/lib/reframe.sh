# SPDX-License-Identifier: BSD-3-Clause
# Source this: installs ReFrame in a temporary folder, and enters it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install "reframe-hpc==4.10.4" >&2 || { echo "cannot install ReFrame"; exit 2; }
export RFM_COLORIZE=n
unset RFM_CONFIG_FILES RFM_SYSTEM RFM_PREFIX
venv/bin/reframe --version

# Fail: what this script states is no longer so.
changed() { echo "CHANGED: $1"; exit 1; }
