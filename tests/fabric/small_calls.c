// SPDX-License-Identifier: BSD-3-Clause
/*
 * Two ranks for what every_call.c does not do: `threads` sends from four threads at
 * once, `unfinished` ends without MPI_Finalize, `fortran` calls as a Fortran program does.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { threads = 4, messages = 1000 };
static int me;

static void *exchange(void *number)
{
    const int tag = *(int *)number;
    char byte[8] = "";
    for (int i = 0; i < messages; i++) {
        MPI_Sendrecv(byte, 8, MPI_CHAR, 1 - me, tag, byte, 8, MPI_CHAR, 1 - me, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return NULL;
}

#ifdef WITH_FORTRAN
void mpi_init_(int *error);
void mpi_bcast_(void *buf, int *count, int *type, int *root, int *comm, int *error);
void mpi_finalize_(int *error);
#endif

int main(int argc, char **argv)
{
    int provided = 0;
#ifdef WITH_FORTRAN
    if (strcmp(argv[1], "fortran") == 0) {
        int count = 5, root = 0, error = 0;
        char data[64] = "";
        mpi_init_(&error);
        int type = MPI_Type_c2f(MPI_INT), comm = MPI_Comm_c2f(MPI_COMM_WORLD);
        for (int i = 0; i < 3; i++) mpi_bcast_(data, &count, &type, &root, &comm, &error);
        mpi_finalize_(&error);
        return error;
    }
#endif
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    if (strcmp(argv[1], "threads") == 0) {
        pthread_t running[threads];
        int numbers[threads];
        if (provided != MPI_THREAD_MULTIPLE) MPI_Abort(MPI_COMM_WORLD, 3);
        for (int i = 0; i < threads; i++) {
            numbers[i] = i;
            pthread_create(&running[i], NULL, exchange, &numbers[i]);
        }
        for (int i = 0; i < threads; i++) pthread_join(running[i], NULL);
    } else if (strcmp(argv[1], "unfinished") == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        _Exit(0);
    }
    MPI_Finalize();
    return 0;
}
