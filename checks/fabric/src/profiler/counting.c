// SPDX-License-Identifier: BSD-3-Clause
#include "profile.h"

#ifndef SMPI_H

#include <stdlib.h>

struct profile p = {.lock = PTHREAD_MUTEX_INITIALIZER};

void locked(void)
{
    if (p.is_threaded) {
        pthread_mutex_lock(&p.lock);
    }
}

void unlocked(void)
{
    if (p.is_threaded) {
        pthread_mutex_unlock(&p.lock);
    }
}

/* ------------------------------------------------------------------ tables by handle */

static struct kept **list_of(struct table *table, uintptr_t handle)
{
    return &table->lists[(((uint64_t)handle * 0x9E3779B97F4A7C15U) >> 56) % buckets];
}

struct kept **find_kept(struct table *table, uintptr_t handle)
{
    struct kept **each = list_of(table, handle);
    while (*each != NULL && (*each)->handle != handle) {
        each = &(*each)->next;
    }
    return each;
}

void keep(struct table *table, struct kept *item, uintptr_t handle)
{
    struct kept **const list = list_of(table, handle);
    item->handle = handle;
    item->next = *list;
    *list = item;
}

struct kept *take_out(struct table *table, uintptr_t handle)
{
    struct kept **const found = find_kept(table, handle);
    struct kept *const item = *found;
    if (item != NULL) {
        *found = item->next;
    }
    return item;
}

/* ------------------------------------------------------------------ counting */

static struct entry *entry_of(uint64_t key)
{
    uint64_t at = (key * 0x9E3779B97F4A7C15U) >> 32;
    for (;; at++) {
        struct entry *found = &p.table[at % slots];
        if (found->key == key) {
            return found;
        }
        if (found->key == 0) {
            if (p.used == fullest) {
                return NULL;
            }
            p.used++;
            found->key = key;
            return found;
        }
    }
}

static void tally(enum call call, int comm_size, bool is_inter, int64_t size, int64_t bytes, int64_t ns)
{
    const uint64_t power = size > 0 ? 64 - (uint64_t)__builtin_clzll((uint64_t)size) : 0;
    const uint64_t key =
        ((uint64_t)(call + 1) << 40) | ((uint64_t)is_inter << 39) | (power << 32) | (uint64_t)(uint32_t)comm_size;
    struct entry *found = p.last[call];
    if (found == NULL || found->key != key) {
        found = entry_of(key);
        if (found == NULL) {
            p.not_kept++;
            return;
        }
        p.last[call] = found;
    }
    found->count++;
    found->bytes += bytes;
    found->ns += ns;
    found->longest_ns = ns > found->longest_ns ? ns : found->longest_ns;
}

/* Notes a call; a persistent request is made now, and moves something when it is started. */
static void note(const struct at *at, int comm_size, bool is_inter, int64_t size, int64_t bytes)
{
    tally(at->call, comm_size, is_inter, size, at->made == NULL ? bytes : 0, at->ns);
    if (at->made != NULL) {
        at->made->comm_size = comm_size;
        at->made->is_inter = is_inter;
        at->made->size = size;
        at->made->bytes = bytes;
    }
}

static void count_partner(int world_rank, int64_t bytes)
{
    if (p.partners != NULL) {
        struct partner *to = &p.partners[world_rank >= 0 && world_rank < p.ranks ? world_rank : p.ranks];
        to->messages++;
        to->bytes += bytes;
    }
}

/* ------------------------------------------------------------------ communicators, requests */

struct comm *known(MPI_Comm comm)
{
    static struct comm unknown;
    struct comm *found = (struct comm *)*find_kept(&p.comms, (uintptr_t)comm);
    int is_inter = 0;
    if (found != NULL) {
        return found;
    }
    struct comm *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return &unknown;
    }
    PMPI_Comm_rank(comm, &made->rank);
    PMPI_Comm_size(comm, &made->size);
    PMPI_Comm_test_inter(comm, &is_inter);
    made->is_inter = is_inter != 0;
    made->partners = made->size;
    if (made->is_inter) {
        PMPI_Comm_remote_size(comm, &made->partners);
    }
    made->id = comm == MPI_COMM_WORLD ? 1 : comm == MPI_COMM_SELF ? 2 : 0;
    keep(&p.comms, &made->kept, (uintptr_t)comm);
    return made;
}

/* Sets the world ranks of the partners. */
static void find_world_ranks(MPI_Comm comm, struct comm *of)
{
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Group world = MPI_GROUP_NULL;
    int *mine = malloc(sizeof(int) * (size_t)of->partners);
    of->world = malloc(sizeof(int) * (size_t)of->partners);
    if (mine != NULL && of->world != NULL) {
        for (int i = 0; i < of->partners; i++) {
            mine[i] = i;
        }
        if (of->is_inter) {
            PMPI_Comm_remote_group(comm, &group);
        } else {
            PMPI_Comm_group(comm, &group);
        }
        PMPI_Comm_group(MPI_COMM_WORLD, &world);
        PMPI_Group_translate_ranks(group, of->partners, mine, world, of->world);
        PMPI_Group_free(&group);
        PMPI_Group_free(&world);
    }
    free(mine);
}

int world_rank(MPI_Comm comm, int rank)
{
    struct comm *of = known(comm);
    if (rank < 0 || rank >= of->partners) {
        return -1;
    }
    if (of->world == NULL) {
        find_world_ranks(comm, of);
    }
    return of->world == NULL || of->world[rank] == MPI_UNDEFINED ? -1 : of->world[rank];
}

void free_comm(struct comm *gone)
{
    free(gone->world);
    free(gone);
}

void forget_comm(MPI_Comm comm)
{
    struct comm *gone = (struct comm *)take_out(&p.comms, (uintptr_t)comm);
    if (gone != NULL && gone->awaited > 0) {
        gone->is_gone = true;
    } else if (gone != NULL) {
        free_comm(gone);
    }
}

void forget_request(MPI_Request handle)
{
    free(take_out(&p.requests, (uintptr_t)handle));
}

void keep_request(struct started *made, MPI_Request handle, enum call call)
{
    forget_request(handle);
    made->call = call;
    keep(&p.requests, &made->kept, (uintptr_t)handle);
}

void count_start(MPI_Request handle, enum call call, int64_t ns)
{
    const struct started *found = (const struct started *)*find_kept(&p.requests, (uintptr_t)handle);
    if (found == NULL) {
        tally(call, 0, false, 0, 0, ns);
        return;
    }
    tally(found->call, found->comm_size, found->is_inter, found->size, found->bytes, ns);
    if (found->partner >= 0) {
        count_partner(found->partner, found->size);
    }
}

/* ------------------------------------------------------------------ sizes */

int64_t extent(MPI_Count count, MPI_Datatype type)
{
    MPI_Count size = 0;
    if (count <= 0 || PMPI_Type_size_x(type, &size) != MPI_SUCCESS || size < 0) {
        return 0;
    }
    return (int64_t)count * (int64_t)size;
}

bool sends(MPI_Comm comm, int root)
{
    return root == MPI_ROOT || (root >= 0 && !known(comm)->is_inter && root == known(comm)->rank);
}

int64_t count_at(const void *counts, size_t width, int i)
{
    return width == sizeof(int) ? ((const int *)counts)[i] : (int64_t)((const MPI_Count *)counts)[i];
}

int64_t total(int n, const void *counts, size_t width, MPI_Datatype type)
{
    int64_t all = 0;
    for (int i = 0; i < n; i++) {
        all += count_at(counts, width, i);
    }
    return extent((MPI_Count)all, type);
}

int64_t total_of_types(int n, const void *counts, size_t width, const MPI_Datatype *types)
{
    int64_t all = 0;
    for (int i = 0; i < n; i++) {
        all += extent((MPI_Count)count_at(counts, width, i), types[i]);
    }
    return all;
}

int neighbours_in(MPI_Comm comm)
{
    int kind = MPI_UNDEFINED;
    int n = 0;
    int in = 0;
    int weighted = 0;
    if (PMPI_Topo_test(comm, &kind) != MPI_SUCCESS) {
        return 0;
    }
    if (kind == MPI_CART && PMPI_Cartdim_get(comm, &n) == MPI_SUCCESS) {
        return 2 * n;
    }
    if (kind == MPI_GRAPH && PMPI_Graph_neighbors_count(comm, known(comm)->rank, &n) == MPI_SUCCESS) {
        return n;
    }
    if (kind == MPI_DIST_GRAPH && PMPI_Dist_graph_neighbors_count(comm, &in, &n, &weighted) == MPI_SUCCESS) {
        return n;
    }
    return 0;
}

/* ------------------------------------------------------------------ notes */

void alone(const struct at *at, int64_t size)
{
    note(at, 0, false, size, 0);
}

void sent(const struct at *at, MPI_Comm comm, int dest, int64_t size)
{
    const int64_t moved = dest == MPI_PROC_NULL ? 0 : size;
    blocks(at, comm, moved, 1);
    if (dest == MPI_PROC_NULL) {
        return;
    }
    const int partner = world_rank(comm, dest);
    if (at->made == NULL) {
        count_partner(partner, moved);
    } else {
        at->made->partner = partner >= 0 ? partner : p.ranks;
    }
}

void blocks(const struct at *at, MPI_Comm comm, int64_t size, int times)
{
    const struct comm *of = known(comm);
    note(at, of->size, of->is_inter, size, size * times);
}

void varied(const struct at *at, MPI_Comm comm, int n, int64_t bytes)
{
    const struct comm *of = known(comm);
    note(at, of->size, of->is_inter, n > 0 ? bytes / n : 0, bytes);
}

#endif
