#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# mpiexec (Hydra) of MPICH 5.0.2, ranks that end with different statuses. Expected: the status of one of them, the highest
# or the first, and 128 and the number for a rank that a signal ended, as a shell has it. Seen: all statuses joined bit by
# bit, 7 for 3 and 5, which no rank ended with; and the bare number of a signal, which cannot be told from a status.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install "mpich==5.0.2" >&2 || { echo "cannot install MPICH"; exit 2; }
changed() { echo "CHANGED: $1"; exit 1; }
venv/bin/mpiexec --version | grep Version
# ends STATUS RANKS LINE: run a line of shell on some ranks, and compare mpiexec's exit status.
ends() {
    local expected=$1 seen=0
    timeout 20 venv/bin/mpiexec -n "$2" sh -c "$3" > out.txt 2>&1 || seen=$?
    echo "$2 ranks, $3: $seen"
    [ "$seen" = "$expected" ] || changed "the exit status is $seen, no longer $expected"
}
ends 4 2 'exit $((PMI_RANK * 4))'
ends 7 2 'exit $((PMI_RANK * 2 + 3))'
ends 3 2 'exit $((PMI_RANK + 1))'
ends 9 1 'exit 9'
ends 9 1 'kill -9 $$'
echo "as described"
