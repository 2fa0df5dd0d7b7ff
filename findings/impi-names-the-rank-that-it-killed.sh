#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# mpiexec of Intel MPI 2021.18, rank 1 of two ends with status 3 while rank 0 waits for it in MPI_Barrier. Expected: the
# message names rank 1 and its status, as MPICH, of which it is made, ends with 3. Seen: the message is about rank 0, killed
# by signal 9, which mpiexec did itself; neither rank 1 nor its status is printed, and the exit status is 255.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
command -v gcc >/dev/null || { echo "needs gcc"; exit 2; }
python3 -m venv venv && venv/bin/pip -q install "impi-rt==2021.18.1" "impi-devel==2021.18.1" >&2 ||
    { echo "cannot install Intel MPI"; exit 2; }
changed() { echo "CHANGED: $1"; exit 1; }
cat > ends.c <<'C'
#include <mpi.h>
#include <stdlib.h>
int main(int count, char **words)
{
    int rank;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1)
        exit(3);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}
C
gcc ends.c -o ends -Ivenv/include -Lvenv/lib -lmpi -Wl,-rpath,"$folder/venv/lib" || { echo "cannot compile"; exit 2; }
export LD_LIBRARY_PATH=$folder/venv/lib
venv/bin/mpiexec --version | head -1
status=0
timeout 60 venv/bin/mpiexec -n 2 ./ends > printed.txt 2>&1 || status=$?
grep -E "RANK|SIGNAL" printed.txt || true
echo "exit status $status"
[ "$status" = 255 ] || changed "the exit status is $status"
grep -q "RANK 0 PID" printed.txt && grep -q "KILLED BY SIGNAL: 9" printed.txt || changed "rank 0 is no longer named as killed"
! grep -q "RANK 1 PID" printed.txt || changed "rank 1 is named"
echo "as described"
