// SPDX-License-Identifier: BSD-3-Clause
/* Another tool of the same kind: it counts barriers, and says so at the end. */
#include <mpi.h>
#include <stdio.h>

static int barriers;

int MPI_Barrier(MPI_Comm comm)
{
    barriers++;
    return PMPI_Barrier(comm);
}

int MPI_Finalize(void)
{
    printf("another tool counted %d barriers\n", barriers);
    return PMPI_Finalize();
}
