// SPDX-License-Identifier: BSD-3-Clause
/*
 * To be preloaded: has an MPI program say at its end how long it took from the end of MPI_Init on all ranks to the begin
 * of MPI_Finalize on the last, which is what a replay predicts. Nothing else of the program is touched.
 */
#include <mpi.h>
#include <stdio.h>

static double begin;

static void begins(void)
{
    PMPI_Barrier(MPI_COMM_WORLD);
    begin = PMPI_Wtime();
}

int MPI_Init(int *argc, char ***argv)
{
    const int result = PMPI_Init(argc, argv);
    begins();
    return result;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    const int result = PMPI_Init_thread(argc, argv, required, provided);
    begins();
    return result;
}

int MPI_Finalize(void)
{
    double took = PMPI_Wtime() - begin, longest = 0;
    int me;
    PMPI_Comm_rank(MPI_COMM_WORLD, &me);
    PMPI_Reduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (me == 0) fprintf(stderr, "run time: %.6f s\n", longest);
    return PMPI_Finalize();
}
