#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# SimGrid 3.32 (SMPI): rank 1 of a simulated program calls MPI_Abort with code 3. Expected: smpirun ends with a status
# other than 0, as mpiexec does. Seen: status 0, and rank 0's last line is missing.
. "$(dirname "$0")/lib/simgrid.sh"
cat > abort.c <<'C'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1 && argc > 1) MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) printf("the last line\n");
    return MPI_Finalize();
}
C
cat > platform.xml <<'XML'
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="n" suffix="" radical="0-1" speed="1Gf" bw="1GBps" lat="1us"/>
</platform>
XML
printf 'n0\nn1\n' > hosts
smpicc abort.c -o abort
smpirun -np 2 -platform platform.xml -hostfile hosts ./abort > whole.txt 2>&1 && whole=0 || whole=$?
smpirun -np 2 -platform platform.xml -hostfile hosts ./abort now > cut.txt 2>&1 && cut=0 || cut=$?
echo "SimGrid 3.32: exit status $whole of the whole program, $cut of the aborted one"
grep -q "the last line" whole.txt || changed "the whole program prints no last line"
! grep -q "the last line" cut.txt || changed "the aborted program prints its last line"
[ "$cut" = 0 ] || changed "the aborted program ends with status $cut"
echo "as described"
