#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# SimGrid 3.32 (SMPI): a ping-pong of 8 B between two ranks of one host, on a platform without a loopback link. Expected: an
# error, since no route leads from a host to itself, or a time like that of shared memory. Seen: half a round trip takes 3 ns,
# hundreds of times less than between two hosts of a link of 1 us, and no line says so: two processes a node look free.
. "$(dirname "$0")/lib/simgrid.sh"
cat > pingpong.c <<'C'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank;
    char buffer[8] = "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double start_s = MPI_Wtime();
    for (int i = 0; i < 100; i++) {
        if (rank == 0) MPI_Send(buffer, 8, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(buffer, 8, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1) MPI_Send(buffer, 8, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
    if (rank == 0) printf("%.4f us\n", (MPI_Wtime() - start_s) / 200 * 1e6);
    return MPI_Finalize();
}
C
cat > platform.xml <<'XML'
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="z" routing="Full">
    <host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>
    <link id="l" bandwidth="1GBps" latency="1us"/>
    <route src="a" dst="b"><link_ctn id="l"/></route>
  </zone>
</platform>
XML
printf 'a\nb\n' > two; printf 'a\na\n' > one
smpicc -O1 pingpong.c -o pingpong
for hosts in two one; do
    smpirun -np 2 -platform platform.xml -hostfile $hosts --cfg=smpi/simulate-computation:no ./pingpong > $hosts.txt 2> $hosts.err ||
        { cat $hosts.err; echo "cannot simulate"; exit 2; }
    echo "$hosts host(s): $(grep us $hosts.txt)"
done
awk '/us/ {exit !($1 > 1)}' two.txt || changed "between two hosts it takes less than the latency of the link"
awk '/us/ {exit !($1 < 0.02)}' one.txt || changed "on one host it takes $(cat one.txt)"
! grep -qiE "warning|loopback" one.err || changed "standard error says so"
echo "as described"
