#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# IMB-MPI1 2021.11 of Intel MPI 2021.18 with one misspelt name, AllReduc. Expected: an error, and an exit status other
# than 0. Seen: a line on standard output says that the name is invalid, then all 19 benchmarks of the default list run,
# exit status 0. With a second, right name only that one runs, also with exit status 0.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install "impi-rt==2021.18.1" >&2 || { echo "cannot install Intel MPI"; exit 2; }
changed() { echo "CHANGED: $1"; exit 1; }
export I_MPI_ROOT=$folder/venv LD_LIBRARY_PATH=$folder/venv/lib
# Run benchmarks of one tiny message; standard output is in out.txt, the exit status in $status.
imb() {
    status=0
    timeout 50 venv/bin/mpiexec -n 2 venv/bin/IMB-MPI1 "$@" -msglog 0:0 -iter 1 > out.txt 2> err.txt || status=$?
    echo "--- $*: exit status $status, $(grep -c '# Benchmarking' out.txt) benchmarks"
    grep "Invalid" out.txt err.txt || true
}
imb Allreduce
grep "Intel(R) MPI Benchmarks" out.txt || { cat err.txt; echo "cannot run IMB"; exit 2; }
[ "$(grep -c '# Benchmarking' out.txt)" = 1 ] || changed "the right name does not run one benchmark"
imb AllReduc
[ "$status" = 0 ] || changed "the exit status of the misspelt name is $status"
[ "$(grep -c '# Benchmarking' out.txt)" = 19 ] || changed "the misspelt name does not run all benchmarks"
grep -q "Invalid benchmark name allreduc" out.txt || changed "standard output does not name the misspelt one"
[ ! -s err.txt ] || changed "standard error is not empty"
imb PingPong AllReduc
[ "$status" = 0 ] || changed "the exit status of a right and a misspelt name is $status"
[ "$(grep -c '# Benchmarking' out.txt)" = 1 ] || changed "a right and a misspelt name do not run one benchmark"
echo "as described"
