// SPDX-License-Identifier: BSD-3-Clause
/*
 * Four ranks that make every call of the profile, and say what they have done: rows
 * `expect RANK CALL SIZE-OF-COMMUNICATOR intra|inter SIZE COUNT BYTES`, which know
 * nothing of the library that counts. With -DLARGE by the functions that take
 * MPI_Count, where there are such.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef LARGE
#define F(name) MPI_##name##_c
typedef MPI_Count number;
typedef MPI_Aint place;
#else
#define F(name) MPI_##name
typedef int number;
typedef int place;
#endif
#if MPI_VERSION >= 4 || defined(OMPI_MAJOR_VERSION)
#define HAS_MPI_4 1
#endif

enum { ranks = 4, room = 1 << 16 };
#ifdef I_MPI_VERSION
/* Intel MPI 2021.18: the root's MPI_Wait of a started MPI_Scatter_init ends with `Invalid communicator`. */
#define IS_BROKEN(name) (strcmp(name, "Scatter") == 0)
#else
#define IS_BROKEN(name) 0
#endif
static char a[room], b[room];
static int me;
static MPI_Comm world, ring, half, across;
static MPI_Datatype gaps; /* 12 bytes of data in 20 */
static FILE *told;

static void expect(const char *call, int comm_size, int is_inter, long size, long count, long bytes)
{
    fprintf(told, "expect %d %s %d %s %ld %ld %ld\n", me, call, comm_size, is_inter ? "inter" : "intra", size, count, bytes);
}
static void simple(const char *call, int comm_size, long size, long bytes) { expect(call, comm_size, 0, size, 1, bytes); }
static void to(int partner, long messages, long bytes) { fprintf(told, "partner %d %d %ld %ld\n", me, partner, messages, bytes); }

/* Wait for one request, uncounted. */
static void done(MPI_Request *request) { PMPI_Wait(request, MPI_STATUS_IGNORE); }

static void point_to_point(void)
{
    const int next = (me + 1) % ranks, before = (me + ranks - 1) % ranks;
    MPI_Request request, two[2];
    MPI_Status status, statuses[2];
    MPI_Message message;
    int flag, index, indices[2];
    static char space[4096 + 4 * MPI_BSEND_OVERHEAD];

    MPI_Buffer_attach(space, sizeof space);
#define POSTED PMPI_Irecv(b, room, MPI_CHAR, before, 0, world, &two[0])
    POSTED; F(Send)(a, 3, gaps, next, 0, world); done(&two[0]); simple("Send", 4, 36, 36);
    POSTED; F(Bsend)(a, 100, MPI_CHAR, next, 0, world); done(&two[0]); simple("Bsend", 4, 100, 100);
    POSTED; F(Ssend)(a, 0, MPI_CHAR, next, 0, world); done(&two[0]); simple("Ssend", 4, 0, 0);
    POSTED; PMPI_Barrier(world); F(Rsend)(a, 1, MPI_DOUBLE, next, 0, world); done(&two[0]); simple("Rsend", 4, 8, 8);
    POSTED; F(Isend)(a, 5, MPI_INT, next, 0, world, &two[1]); MPI_Waitall(2, two, statuses); simple("Isend", 4, 20, 20);
    POSTED; F(Ibsend)(a, 6, MPI_INT, next, 0, world, &two[1]); PMPI_Waitall(2, two, statuses); simple("Ibsend", 4, 24, 24);
    POSTED; F(Issend)(a, 7, MPI_INT, next, 0, world, &two[1]); PMPI_Waitall(2, two, statuses); simple("Issend", 4, 28, 28);
    POSTED; PMPI_Barrier(world); F(Irsend)(a, 9, MPI_INT, next, 0, world, &two[1]); PMPI_Waitall(2, two, statuses);
    simple("Irsend", 4, 36, 36);
    to(next, 8, 36 + 100 + 0 + 8 + 20 + 24 + 28 + 36);
    simple("Waitall", 0, 0, 0);
    /* to nobody */
    F(Send)(a, 1000, MPI_CHAR, MPI_PROC_NULL, 0, world); simple("Send", 4, 0, 0);

#define COMING PMPI_Isend(a, 50, MPI_CHAR, next, 0, world, &request)
    COMING; F(Recv)(b, 1000, MPI_CHAR, before, 0, world, &status); done(&request); simple("Recv", 4, 1000, 0);
    COMING; F(Irecv)(b, 2000, MPI_CHAR, MPI_ANY_SOURCE, 0, world, &two[0]); MPI_Wait(&two[0], &status); done(&request);
    simple("Irecv", 4, 2000, 0); simple("Wait", 0, 0, 0);
    COMING; MPI_Probe(before, 0, world, &status); F(Recv)(b, 50, MPI_CHAR, before, 0, world, &status); done(&request);
    simple("Probe", 4, 0, 0); simple("Recv", 4, 50, 0);
    COMING; MPI_Mprobe(before, 0, world, &message, &status); F(Mrecv)(b, 60, MPI_CHAR, &message, &status); done(&request);
    simple("Mprobe", 4, 0, 0); simple("Mrecv", 0, 60, 0);
    COMING;
    long tries = 0;
    for (flag = 0; !flag; tries++) MPI_Improbe(before, 0, world, &flag, &message, &status);
    F(Imrecv)(b, 61, MPI_CHAR, &message, &two[0]); done(&two[0]); done(&request);
    expect("Improbe", 4, 0, 0, tries, 0); simple("Imrecv", 0, 61, 0);
    MPI_Iprobe(before, 77, world, &flag, &status); simple("Iprobe", 4, 0, 0);
    F(Sendrecv)(a, 10, MPI_CHAR, next, 0, b, room, MPI_CHAR, before, 0, world, &status); simple("Sendrecv", 4, 10, 10);
    F(Sendrecv_replace)(a, 11, MPI_CHAR, next, 0, before, 0, world, &status); simple("Sendrecv_replace", 4, 11, 11);
    to(next, 2, 21);
#ifdef HAS_MPI_4
    F(Isendrecv)(a, 12, MPI_CHAR, next, 0, b, room, MPI_CHAR, before, 0, world, &request); done(&request);
    simple("Isendrecv", 4, 12, 12);
    F(Isendrecv_replace)(a, 13, MPI_CHAR, next, 0, before, 0, world, &request); done(&request);
    simple("Isendrecv_replace", 4, 13, 13);
    to(next, 2, 25);
#endif
    /* what waits and asks: requests that are done */
#define PAIR POSTED; PMPI_Isend(a, 1, MPI_CHAR, next, 0, world, &two[1])
    PAIR; MPI_Waitany(2, two, &index, &status); PMPI_Waitall(2, two, statuses); simple("Waitany", 0, 0, 0);
    PAIR; MPI_Waitsome(2, two, &index, indices, statuses); PMPI_Waitall(2, two, statuses); simple("Waitsome", 0, 0, 0);
    PAIR; MPI_Test(&two[0], &flag, &status); PMPI_Waitall(2, two, statuses); simple("Test", 0, 0, 0);
    PAIR; MPI_Testany(2, two, &index, &flag, &status); PMPI_Waitall(2, two, statuses); simple("Testany", 0, 0, 0);
    PAIR; MPI_Testall(2, two, &flag, statuses); PMPI_Waitall(2, two, statuses); simple("Testall", 0, 0, 0);
    PAIR; MPI_Testsome(2, two, &index, indices, statuses); PMPI_Waitall(2, two, statuses); simple("Testsome", 0, 0, 0);

    /* persistent: made once, started twice by MPI_Start and once by MPI_Startall */
#define THRICE(kind, init, bytes)                                                                                      \
    init;                                                                                                              \
    for (int i = 0; i < 3; i++) {                                                                                      \
        POSTED;                                                                                                        \
        PMPI_Barrier(world);                                                                                           \
        if (i < 2) MPI_Start(&request); else MPI_Startall(1, &request);                                                \
        done(&request);                                                                                                \
        done(&two[0]);                                                                                                 \
    }                                                                                                                  \
    MPI_Request_free(&request);                                                                                        \
    expect(kind "_init", 4, 0, bytes, 1, 0);                                                                           \
    expect(kind "_start", 4, 0, bytes, 3, 3L * (bytes));                                                               \
    to(next, 3, 3L * (bytes));
    THRICE("Send", F(Send_init)(a, 4, gaps, next, 0, world, &request), 48)
    THRICE("Bsend", F(Bsend_init)(a, 30, MPI_CHAR, next, 0, world, &request), 30)
    THRICE("Ssend", F(Ssend_init)(a, 31, MPI_CHAR, next, 0, world, &request), 31)
    THRICE("Rsend", F(Rsend_init)(a, 33, MPI_CHAR, next, 0, world, &request), 33)
    F(Recv_init)(b, 500, MPI_CHAR, before, 0, world, &request);
    MPI_Start(&request); PMPI_Send(a, 1, MPI_CHAR, next, 0, world); done(&request); MPI_Request_free(&request);
    simple("Recv_init", 4, 500, 0); simple("Recv_start", 4, 500, 0);
    int size;
    MPI_Buffer_detach(&b, &size);
}

/* Each collective: blocking twice, not blocking once, persistent once and started twice. */
#ifdef HAS_MPI_4
#define PERSISTENT_TOO(Name, comm_size, is_inter, size, bytes, ...)                                                    \
    F(Name##_init)(__VA_ARGS__, MPI_INFO_NULL, &request);                                                              \
    if (!IS_BROKEN(#Name)) {                                                                                           \
        for (int i = 0; i < 2; i++) { MPI_Start(&request); done(&request); }                                           \
        expect(#Name "_start", comm_size, is_inter, size, 2, 2L * (bytes));                                            \
    }                                                                                                                  \
    MPI_Request_free(&request);                                                                                        \
    expect(#Name "_init", comm_size, is_inter, size, 1, 0);
#else
#define PERSISTENT_TOO(Name, comm_size, is_inter, size, bytes, ...)
#endif
#define THREE(Name, name, comm_size, is_inter, size, bytes, ...)                                                       \
    F(Name)(__VA_ARGS__);                                                                                              \
    F(Name)(__VA_ARGS__);                                                                                              \
    F(I##name)(__VA_ARGS__, &request);                                                                                 \
    done(&request);                                                                                                    \
    expect(#Name, comm_size, is_inter, size, 2, 2L * (bytes));                                                         \
    expect("I" #name, comm_size, is_inter, size, 1, bytes);                                                            \
    if (!(is_inter)) { PERSISTENT_TOO(Name, comm_size, is_inter, size, bytes, __VA_ARGS__) }

static void collectives(void)
{
    MPI_Request request;
    const int root = 2;
    const int is_root = me == root;
    number counts[ranks], backs[ranks];
    place displs[ranks];
    MPI_Datatype types[ranks];
    MPI_Aint far[ranks];
    for (int i = 0; i < ranks; i++) {
        counts[i] = i + 1;      /* from everybody to i */
        backs[i] = me + 1;      /* from i to me */
        displs[i] = 16 * i;
        far[i] = 64 * i;
        types[i] = i % 2 ? MPI_INT : MPI_CHAR; /* to i; from i to me as all send me */
    }
    MPI_Datatype mine[ranks];
    for (int i = 0; i < ranks; i++) mine[i] = me % 2 ? MPI_INT : MPI_CHAR;

    THREE(Bcast, bcast, 4, 0, 36, is_root ? 36 : 0, a, 3, gaps, root, world)
    THREE(Gather, gather, 4, 0, 12, 12, a, 3, MPI_INT, b, 3, MPI_INT, root, world)
    THREE(Gather, gather, 4, 0, 16, 16, is_root ? MPI_IN_PLACE : (void *)a, 4, MPI_INT, b, 4, MPI_INT, root, world)
    number sizes[ranks]; for (int i = 0; i < ranks; i++) sizes[i] = 10 + i;
    place apart[ranks]; for (int i = 0; i < ranks; i++) apart[i] = 100 * i;
    THREE(Gatherv, gatherv, 4, 0, 10 + me, 10 + me, a, 10 + me, MPI_CHAR, b, sizes, apart, MPI_CHAR, root, world)
    THREE(Scatter, scatter, 4, 0, 20, is_root ? 80 : 0, a, 5, MPI_INT, b, 5, MPI_INT, root, world)
    THREE(Scatterv, scatterv, 4, 0, is_root ? 46 / 4 : 10 + me, is_root ? 46 : 0, a, sizes, apart, MPI_CHAR, b, 10 + me,
          MPI_CHAR, root, world)
    THREE(Allgather, allgather, 4, 0, 24, 24, a, 6, MPI_INT, b, 6, MPI_INT, world)
    THREE(Allgather, allgather, 4, 0, 48, 48, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, 12, MPI_INT, world)
    THREE(Allgatherv, allgatherv, 4, 0, 10 + me, 10 + me, a, 10 + me, MPI_CHAR, b, sizes, apart, MPI_CHAR, world)
    THREE(Allgatherv, allgatherv, 4, 0, 4 * (10 + me), 4 * (10 + me), MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, sizes, apart, MPI_INT, world)
    THREE(Alltoall, alltoall, 4, 0, 8, 32, a, 2, MPI_INT, b, 2, MPI_INT, world)
    THREE(Alltoall, alltoall, 4, 0, 4, 16, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, 1, MPI_INT, world)
    THREE(Alltoallv, alltoallv, 4, 0, 10, 40, a, counts, displs, MPI_INT, b, backs, displs, MPI_INT, world)
    THREE(Alltoallw, alltoallw, 4, 0, (1 + 8 + 3 + 16) / 4, 1 + 8 + 3 + 16, a, counts, (const place *)apart, types, b, backs,
          (const place *)apart, mine, world)
    THREE(Reduce, reduce, 4, 0, 28, 28, a, b, 7, MPI_INT, MPI_SUM, root, world)
    THREE(Allreduce, allreduce, 4, 0, 40, 40, a, b, 10, MPI_INT, MPI_SUM, world)
    THREE(Scan, scan, 4, 0, 44, 44, a, b, 11, MPI_INT, MPI_SUM, world)
    THREE(Exscan, exscan, 4, 0, 52, 52, a, b, 13, MPI_INT, MPI_SUM, world)
    THREE(Reduce_scatter_block, reduce_scatter_block, 4, 0, 4 * 4 * 3, 4 * 4 * 3, a, b, 3, MPI_INT, MPI_SUM, world)
    THREE(Reduce_scatter, reduce_scatter, 4, 0, 4 * 10, 4 * 10, a, b, counts, MPI_INT, MPI_SUM, world)
    /* on half of the world */
    THREE(Allreduce, allreduce, 2, 0, 4, 4, a, b, 1, MPI_INT, MPI_SUM, half)
    /* across: ranks 0 and 1 to ranks 2 and 3, from the second of the first group */
    const int from = me >= 2 ? 1 : me == 1 ? MPI_ROOT : MPI_PROC_NULL;
    THREE(Bcast, bcast, 2, 1, from == MPI_PROC_NULL ? 0 : 400, from == MPI_ROOT ? 400 : 0, a, 100, MPI_INT, from, across)
    THREE(Alltoall, alltoall, 2, 1, 120, 240, a, 30, MPI_INT, b, 30, MPI_INT, across)
    THREE(Reduce, reduce, 2, 1, from == MPI_PROC_NULL ? 0 : 200, from >= 0 ? 200 : 0, a, b, 50, MPI_INT, MPI_SUM, from, across)
    F(Gather)(a, 9, MPI_CHAR, b, 9, MPI_CHAR, from, across);
    expect("Gather", 2, 1, from == MPI_PROC_NULL ? 0 : 9, 1, from >= 0 ? 9 : 0);
    F(Scatter)(a, 70, MPI_CHAR, b, 70, MPI_CHAR, from, across);
    expect("Scatter", 2, 1, from == MPI_PROC_NULL ? 0 : 70, 1, from == MPI_ROOT ? 140 : 0);

    /* neighbours: a ring, each sends to two */
    THREE(Neighbor_allgather, neighbor_allgather, 4, 0, 17, 34, a, 17, MPI_CHAR, b, 17, MPI_CHAR, ring)
    number same[] = {18, 18};
    THREE(Neighbor_allgatherv, neighbor_allgatherv, 4, 0, 18, 36, a, 18, MPI_CHAR, b, same, apart, MPI_CHAR, ring)
    THREE(Neighbor_alltoall, neighbor_alltoall, 4, 0, 300, 600, a, 300, MPI_CHAR, b, 300, MPI_CHAR, ring)
    number out[] = {5, 5};
    THREE(Neighbor_alltoallv, neighbor_alltoallv, 4, 0, 20, 40, a, out, apart, MPI_INT, b, out, apart, MPI_INT, ring)
    MPI_Datatype ints[] = {MPI_INT, MPI_INT};
    THREE(Neighbor_alltoallw, neighbor_alltoallw, 4, 0, 20, 40, a, out, far, ints, b, out, far, ints, ring)

    MPI_Barrier(world); simple("Barrier", 4, 0, 0);
    MPI_Ibarrier(world, &request); done(&request); simple("Ibarrier", 4, 0, 0);
#ifdef HAS_MPI_4
    MPI_Barrier_init(world, MPI_INFO_NULL, &request);
    MPI_Start(&request); done(&request); MPI_Request_free(&request);
    simple("Barrier_init", 4, 0, 0); simple("Barrier_start", 4, 0, 0);
#endif
}

static void windows(void)
{
    char *base;
    MPI_Win win;
    MPI_Win_allocate(4096, 1, MPI_INFO_NULL, world, &base, &win); MPI_Win_free(&win); simple("Win_allocate", 4, 0, 0);
    MPI_Win_create(a, room, 1, MPI_INFO_NULL, half, &win); MPI_Win_free(&win); simple("Win_create", 2, 0, 0);
    MPI_Win_create_dynamic(MPI_INFO_NULL, world, &win); MPI_Win_free(&win); simple("Win_create_dynamic", 4, 0, 0);
    MPI_Win_allocate_shared(64, 1, MPI_INFO_NULL, world, &base, &win); MPI_Win_free(&win); simple("Win_allocate_shared", 4, 0, 0);
}

static void communicators(void)
{
    const int next = (me + 1) % ranks, before = (me + ranks - 1) % ranks;
    int dims[] = {4}, periods[] = {1}, remain[] = {1};
    int index[] = {1, 2, 3, 4}, edges[] = {1, 2, 3, 0};
    MPI_Comm made, cart;
    MPI_Request request;
    MPI_Group group;
    MPI_Comm_split(world, me / 2, me, &half); simple("Comm_split", 4, 0, 0);
    MPI_Intercomm_create(half, 0, world, me < 2 ? 2 : 0, 9, &across); simple("Intercomm_create", 2, 0, 0);
    MPI_Intercomm_merge(across, me >= 2, &made); MPI_Comm_free(&made); expect("Intercomm_merge", 2, 1, 0, 1, 0);
    int neighbours[] = {before, next};
    MPI_Dist_graph_create_adjacent(world, 2, neighbours, MPI_UNWEIGHTED, 2, neighbours, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring);
    simple("Dist_graph_create_adjacent", 4, 0, 0);
    int source[] = {me}, degree[] = {1}, target[] = {next};
    MPI_Dist_graph_create(world, 1, source, degree, target, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
    simple("Dist_graph_create", 4, 0, 0);
    F(Neighbor_allgather)(a, 19, MPI_CHAR, b, 19, MPI_CHAR, made); simple("Neighbor_allgather", 4, 19, 19);
    MPI_Comm_free(&made);
    MPI_Graph_create(world, 4, index, edges, 0, &made); simple("Graph_create", 4, 0, 0);
    MPI_Comm_free(&made);
    MPI_Cart_create(world, 1, dims, periods, 0, &cart); simple("Cart_create", 4, 0, 0);
    F(Neighbor_alltoall)(a, 2, MPI_INT, b, 2, MPI_INT, cart); simple("Neighbor_alltoall", 4, 8, 16);
    MPI_Cart_sub(cart, remain, &made); simple("Cart_sub", 4, 0, 0); MPI_Comm_free(&made); MPI_Comm_free(&cart);
    MPI_Comm_dup(half, &made); simple("Comm_dup", 2, 0, 0);
    F(Send)(a, 77, MPI_CHAR, 1 - me % 2, 0, made); PMPI_Recv(b, room, MPI_CHAR, 1 - me % 2, 0, made, MPI_STATUS_IGNORE);
    simple("Send", 2, 77, 77); to(me ^ 1, 1, 77);
    MPI_Comm_disconnect(&made);
    MPI_Comm_dup_with_info(world, MPI_INFO_NULL, &made); MPI_Comm_free(&made); simple("Comm_dup_with_info", 4, 0, 0);
    MPI_Comm_idup(world, &made, &request); done(&request); MPI_Comm_free(&made); simple("Comm_idup", 4, 0, 0);
    MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made); MPI_Comm_free(&made); simple("Comm_split_type", 4, 0, 0);
    PMPI_Comm_group(world, &group);
    MPI_Comm_create(world, group, &made); MPI_Comm_free(&made); simple("Comm_create", 4, 0, 0);
    MPI_Comm_create_group(world, group, 3, &made); MPI_Comm_free(&made); simple("Comm_create_group", 4, 0, 0);
    PMPI_Group_free(&group);
    /* a message across the two groups: the partner is told by its rank in the world */
    PMPI_Irecv(b, room, MPI_CHAR, me % 2, 0, across, &request);
    F(Ssend)(a, 6, MPI_CHAR, me % 2, 0, across); done(&request);
    expect("Ssend", 2, 1, 6, 1, 6); to(me ^ 2, 1, 6);
}

int main(int argc, char **argv)
{
    char name[4096];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    snprintf(name, sizeof name, "%s.%d", argv[1], me);
    told = fopen(name, "w");
    if (told == NULL) return 1;
    setvbuf(told, NULL, _IOLBF, 0);
    PMPI_Comm_dup(MPI_COMM_WORLD, &world);
    PMPI_Type_vector(3, 1, 2, MPI_INT, &gaps);
    PMPI_Type_commit(&gaps);
    communicators();
    point_to_point();
    collectives();
    windows();
    MPI_Pcontrol(0);
    MPI_Barrier(world); /* not counted */
    MPI_Pcontrol(1);
    fclose(told);
    PMPI_Comm_free(&world);
    MPI_Finalize();
    return 0;
}
