// SPDX-License-Identifier: BSD-3-Clause
/*
 * The calls of MPI that FT of the NAS Parallel Benchmarks makes in Fortran, for an MPI without a Fortran library, as that
 * of a Python wheel. Fortran hands over addresses; names are those that gfortran makes.
 *
 *   mpicc -DHEADER fortran.c -o header && ./header > mpif.h      the constants
 *   mpicc -c fortran.c                                          the calls
 */
#include <mpi.h>
#include <stdio.h>

#ifdef HEADER
int main(void)
{
    const struct {
        const char *name;
        MPI_Fint value;
    } constants[] = {
        {"COMM_WORLD", MPI_Comm_c2f(MPI_COMM_WORLD)},
        {"ERR_OTHER", MPI_ERR_OTHER},
        {"SUM", MPI_Op_c2f(MPI_SUM)},
        {"MAX", MPI_Op_c2f(MPI_MAX)},
        {"MIN", MPI_Op_c2f(MPI_MIN)},
        {"INTEGER", MPI_Type_c2f(MPI_INT)},
        {"LOGICAL", MPI_Type_c2f(MPI_INT)},
        {"DOUBLE_PRECISION", MPI_Type_c2f(MPI_DOUBLE)},
        {"COMPLEX", MPI_Type_c2f(MPI_C_FLOAT_COMPLEX)},
        {"DOUBLE_COMPLEX", MPI_Type_c2f(MPI_C_DOUBLE_COMPLEX)},
    };
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
        printf("      integer MPI_%s\n", constants[i].name);
        printf("      parameter (MPI_%s=%d)\n", constants[i].name, (int)constants[i].value);
    }
    printf("      double precision MPI_WTIME\n      external MPI_WTIME\n");
    return 0;
}
#else
typedef MPI_Fint fint;

void mpi_init_(fint *error)
{
    *error = MPI_Init(NULL, NULL);
}

void mpi_finalize_(fint *error)
{
    *error = MPI_Finalize();
}

void mpi_abort_(fint *comm, fint *code, fint *error)
{
    *error = MPI_Abort(MPI_Comm_f2c(*comm), *code);
}

void mpi_comm_size_(fint *comm, fint *size, fint *error)
{
    *error = MPI_Comm_size(MPI_Comm_f2c(*comm), size);
}

void mpi_comm_rank_(fint *comm, fint *rank, fint *error)
{
    *error = MPI_Comm_rank(MPI_Comm_f2c(*comm), rank);
}

void mpi_comm_split_(fint *comm, fint *color, fint *key, fint *made, fint *error)
{
    MPI_Comm found = MPI_COMM_NULL;
    *error = MPI_Comm_split(MPI_Comm_f2c(*comm), *color, *key, &found);
    *made = MPI_Comm_c2f(found);
}

void mpi_barrier_(fint *comm, fint *error)
{
    *error = MPI_Barrier(MPI_Comm_f2c(*comm));
}

void mpi_bcast_(void *buffer, fint *count, fint *type, fint *root, fint *comm, fint *error)
{
    *error = MPI_Bcast(buffer, *count, MPI_Type_f2c(*type), *root, MPI_Comm_f2c(*comm));
}

void mpi_reduce_(void *from, void *to, fint *count, fint *type, fint *op, fint *root, fint *comm, fint *error)
{
    *error = MPI_Reduce(from, to, *count, MPI_Type_f2c(*type), MPI_Op_f2c(*op), *root, MPI_Comm_f2c(*comm));
}

void mpi_alltoall_(void *from, fint *sent, fint *send_type, void *to, fint *received, fint *type, fint *comm, fint *error)
{
    const MPI_Datatype send = MPI_Type_f2c(*send_type), receive = MPI_Type_f2c(*type);
    *error = MPI_Alltoall(from, *sent, send, to, *received, receive, MPI_Comm_f2c(*comm));
}

double mpi_wtime_(void)
{
    return MPI_Wtime();
}
#endif
