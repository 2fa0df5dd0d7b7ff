// SPDX-License-Identifier: BSD-3-Clause
/*
 * What a call moves: sizes in bytes, and how many of its blocks a process hands over.
 * Only arguments that are significant at this process are touched: others may be
 * anything, and MPI ends the program that asks it for the size of no datatype.
 */
#ifndef PROFILE_NOTES_H
#define PROFILE_NOTES_H

/* A message, or one block of a collective: true data, without the gaps of its datatype. */
static int64_t extent(MPI_Count count, MPI_Datatype type)
{
    MPI_Count size = 0;
    if (count <= 0 || PMPI_Type_size_x(type, &size) != MPI_SUCCESS || size < 0) {
        return 0;
    }
    return (int64_t)count * (int64_t)size;
}

static int rank_in(MPI_Comm comm) { return known(comm)->rank; }
static int here_in(MPI_Comm comm) { return known(comm)->size; }
/* Whom a collective reaches: of an inter-communicator the other group. */
static int others_in(MPI_Comm comm) { return known(comm)->partners; }

/* Whether this process is the one whose data a rooted collective hands out. */
static bool sends(MPI_Comm comm, int root)
{
    return root == MPI_ROOT || (root >= 0 && !known(comm)->is_inter && root == rank_in(comm));
}

/* Sums over arrays, for both types of counts. */
#define SUMS(suffix, type_of_count)                                                                                    \
    static int64_t sum##suffix(int n, const type_of_count *counts, MPI_Datatype type)                                  \
    {                                                                                                                  \
        MPI_Count all = 0;                                                                                             \
        for (int i = 0; i < n; i++) {                                                                                  \
            all += counts[i];                                                                                          \
        }                                                                                                              \
        return extent(all, type);                                                                                      \
    }                                                                                                                  \
    static int64_t sum_of_types##suffix(int n, const type_of_count *counts, const MPI_Datatype *types)                 \
    {                                                                                                                  \
        int64_t all = 0;                                                                                               \
        for (int i = 0; i < n; i++) {                                                                                  \
            all += extent(counts[i], types[i]);                                                                        \
        }                                                                                                              \
        return all;                                                                                                    \
    }
SUMS(_int, int)
SUMS(_count, MPI_Count)
#define SUM(counts) _Generic((counts)[0], int : sum_int, MPI_Count : sum_count)
#define SUM_OF_TYPES(counts) _Generic((counts)[0], int : sum_of_types_int, MPI_Count : sum_of_types_count)
#define total(comm, counts, type) SUM(counts)(others_in(comm), counts, type)
#define total_here(comm, counts, type) SUM(counts)(here_in(comm), counts, type)
#define total_of_types(comm, counts, types) SUM_OF_TYPES(counts)(others_in(comm), counts, types)
#define total_out(comm, counts, type) SUM(counts)(neighbours_in(comm), counts, type)
#define total_out_of_types(comm, counts, types) SUM_OF_TYPES(counts)(neighbours_in(comm), counts, types)

/* How many neighbours a process sends to, those beyond an open border (MPI_PROC_NULL) included. */
static int neighbours_in(MPI_Comm comm)
{
    int kind = MPI_UNDEFINED;
    int rank = 0;
    int n = 0;
    int in = 0;
    int weighted = 0;
    if (PMPI_Topo_test(comm, &kind) != MPI_SUCCESS) {
        return 0;
    }
    if (kind == MPI_CART && PMPI_Cartdim_get(comm, &n) == MPI_SUCCESS) {
        return 2 * n;
    }
    if (kind == MPI_GRAPH && PMPI_Comm_rank(comm, &rank) == MPI_SUCCESS &&
        PMPI_Graph_neighbors_count(comm, rank, &n) == MPI_SUCCESS) {
        return n;
    }
    if (kind == MPI_DIST_GRAPH && PMPI_Dist_graph_neighbors_count(comm, &in, &n, &weighted) == MPI_SUCCESS) {
        return n;
    }
    return 0;
}

/* Of no communicator, or of one that is not known any more. */
static void alone(const struct at *at, int64_t size) { note(at, 0, false, size, 0); }

static void sent(const struct at *at, MPI_Comm comm, int dest, int64_t size)
{
    const struct comm *of = known(comm);
    if (dest == MPI_PROC_NULL) {
        size = 0;
    }
    note(at, of->size, of->is_inter, size, size);
    if (dest != MPI_PROC_NULL) {
        note_partner(at, world_rank(comm, dest), size);
    }
}

/* The buffer that a receive offers; what came is counted at its sender. */
static void offered(const struct at *at, MPI_Comm comm, int source, int64_t size)
{
    (void)source;
    const struct comm *of = known(comm);
    note(at, of->size, of->is_inter, size, 0);
}

static void blocks(const struct at *at, MPI_Comm comm, int64_t size, int times)
{
    const struct comm *of = known(comm);
    note(at, of->size, of->is_inter, size, size * times);
}

/* Blocks that differ in size: it is their mean. */
static void varied(const struct at *at, MPI_Comm comm, int64_t bytes)
{
    const struct comm *of = known(comm);
    note(at, of->size, of->is_inter, of->partners > 0 ? bytes / of->partners : 0, bytes);
}

static void scattered(const struct at *at, MPI_Comm comm, int64_t size, bool is_root)
{
    if (is_root) {
        varied(at, comm, size);
    } else {
        blocks(at, comm, size, 0);
    }
}

static void neighbours(const struct at *at, MPI_Comm comm, int64_t size)
{
    blocks(at, comm, size, neighbours_in(comm));
}

static void neighbours_varied(const struct at *at, MPI_Comm comm, int64_t bytes)
{
    const struct comm *of = known(comm);
    const int n = neighbours_in(comm);
    note(at, of->size, of->is_inter, n > 0 ? bytes / n : 0, bytes);
}

static void in_window(const struct at *at, MPI_Win win, int64_t size)
{
    note(at, window_size(win), false, size, size);
}

static void put(const struct at *at, MPI_Win win, int rank, int64_t size)
{
    note(at, window_size(win), false, size, rank == MPI_PROC_NULL ? 0 : size);
}

#endif
