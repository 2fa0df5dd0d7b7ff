#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# mpiexec (Hydra) of MPICH 5.0.2, one of two ranks ends with status 0 without MPI_Finalize while the other waits for it in
# MPI_Barrier. Expected: an error, as Open MPI has it ("exiting improperly"), or a job that hangs. Seen: the other rank is
# ended too, nothing is printed, and the exit status is 0.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
command -v gcc >/dev/null || { echo "needs gcc"; exit 2; }
python3 -m venv venv && venv/bin/pip -q install "mpich==5.0.2" >&2 || { echo "cannot install MPICH"; exit 2; }
changed() { echo "CHANGED: $1"; exit 1; }
venv/bin/mpiexec --version | grep Version
cat > early.c <<'C'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **words)
{
    int rank;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1)
        exit(0);
    MPI_Barrier(MPI_COMM_WORLD);
    puts("behind the barrier");
    return MPI_Finalize();
}
C
venv/bin/mpicc early.c -o early -Wl,-rpath,"$folder/venv/lib" || { echo "cannot compile"; exit 2; }
status=0
timeout 60 venv/bin/mpiexec -n 2 ./early > printed.txt 2>&1 || status=$?
echo "exit status $status, $(wc -c < printed.txt) bytes printed"
[ "$status" = 0 ] || changed "the exit status is $status"
[ ! -s printed.txt ] || changed "it prints: $(head -1 printed.txt)"
echo "as described"
