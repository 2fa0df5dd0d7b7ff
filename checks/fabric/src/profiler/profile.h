// SPDX-License-Identifier: BSD-3-Clause
/*
 * A library between a program and its MPI that counts what the program asks MPI for: for each call, size of
 * communicator and size of message the number of calls, their bytes and their time, and to whom the messages go; of
 * each rank.
 *
 *   LD_PRELOAD=profile.so FABRIC_PROFILE=FILE program      in every rank, as by mpirun -np 4 env ...
 *
 * Rank 0 writes FILE in MPI_Finalize. With FABRIC_TRACE=FOLDER each rank writes a trace that SimGrid can replay, too
 * (trace.h): up to FABRIC_TRACE_BYTES together. Without FABRIC_PROFILE every call is passed on and nothing is counted.
 * MPI_Pcontrol(0) pauses it, MPI_Pcontrol(1) goes on.
 *
 * Two rules: the program behaves as it does without this library, and nothing here can make it fail. Each call is
 * passed to the next library that has it, so another tool of this kind may stand behind this one. The tables are of
 * fixed size, but for one entry for each communicator and persistent request that exists at a time, and one for each
 * rank: memory does not grow with run time.
 *
 * Unlike the programs it has static data: an MPI tool cannot do without. So it is empty where a simulator runs all
 * ranks in one process.
 */
#ifndef PROFILE_H
#define PROFILE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_NEXT, open_memstream under -std=c11 */
#endif
#include <mpi.h>

#ifdef SMPI_H
typedef int fc_nothing_to_profile;
#else

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define HAS_COUNTS (MPI_VERSION >= 4)
#if defined(OMPI_MAJOR_VERSION)
#define HAS_MPI_4 (OMPI_MAJOR_VERSION >= 5) /* it calls itself 3.1, and has them */
#else
#define HAS_MPI_4 (MPI_VERSION >= 4)
#endif

/* ------------------------------------------------------------------ numbers of the calls */

#define ONCE
#define COUNT int
#define DISPL int
#define CALL(name, ...) NAMED(name)
#define TRACED(name, ...) NAMED(name)
#define COMPLETES(name, ...) NAMED(name)
#define PERSISTENT(name, start, ...) NAMED(name) NAMED(start)
#define TRACED_PERSISTENT PERSISTENT
#if HAS_MPI_4
#define COLLECTIVE(name, lower, ...) NAMED(name) NAMED(I##lower) NAMED(name##_init) NAMED(name##_start)
#else
#define COLLECTIVE(name, lower, ...) NAMED(name) NAMED(I##lower)
#endif
#define TRACED_COLLECTIVE COLLECTIVE
enum call {
#define NAMED(name) call_##name,
#include "calls.h"
#undef NAMED
    call_Start,
    call_Startall,
    calls
};
static const char *const call_names[] = {
#define NAMED(name) #name,
#include "calls.h"
#undef NAMED
    "Start",
    "Startall",
};
#undef CALL
#undef TRACED
#undef COMPLETES
#undef PERSISTENT
#undef TRACED_PERSISTENT
#undef COLLECTIVE
#undef TRACED_COLLECTIVE

/* ------------------------------------------------------------------ what is kept */

enum {
    slots = 4096, /* of the table of counts: a power of two */
    fullest = 3072,
    buckets = 256
};

/* The beginning of what is kept of a communicator or a request, in a table by its handle. */
struct kept {
    struct kept *next;
    uintptr_t handle;
};

struct table {
    struct kept *lists[buckets];
};

struct comm {
    struct kept kept;
    int rank;
    int size;
    int partners; /* the group that messages go to */
    bool is_inter;
    int *world;   /* world ranks of the partners; made with the first message */
    uint64_t id;  /* in the trace; 0: of a communicator that is not traced */
    int awaited;  /* receives from any source on it that are pending in the trace */
    bool is_gone; /* freed by the program; kept for those */
};

/* What a persistent request does each time that it is started. */
struct started {
    struct kept kept;
    enum call call;
    int comm_size;
    bool is_inter;
    int64_t size;
    int64_t bytes;
    int partner; /* -1: none */
};

/* A call, the size of its communicator, and the power of two that its size is below. */
struct entry {
    uint64_t key; /* 0: free */
    int64_t count;
    int64_t bytes;
    int64_t ns;
    int64_t longest_ns;
};

struct partner {
    int64_t messages;
    int64_t bytes;
};

/* A call in progress: which, how long it took, and of a persistent one the request that it made. */
struct at {
    enum call call;
    int64_t ns;
    struct started *made;
};

struct profile {
    bool is_on;       /* between MPI_Init and MPI_Finalize, with a file to write */
    bool is_paused;   /* by MPI_Pcontrol */
    bool is_threaded; /* whether calls may come from several threads at once */
    pthread_mutex_t lock;
    const char *file;
    MPI_Comm own; /* for what is sent at the end */
    int rank;
    int ranks;
    int64_t began_ns;
    int64_t began_cpu_ns;
    struct entry table[slots];
    int used;
    int64_t not_kept; /* calls that the table had no room for */
    struct entry *last[calls];
    struct table comms;
    struct table requests;
    struct partner *partners; /* of the world, and one for all others */
};
extern struct profile p;

static inline int64_t now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void locked(void);
void unlocked(void);

/* Returns where the item of a handle is linked, or the end of its list. */
struct kept **find_kept(struct table *table, uintptr_t handle);
void keep(struct table *table, struct kept *item, uintptr_t handle);
/* Takes the item of a handle out of the table; returns NULL if there is none. */
struct kept *take_out(struct table *table, uintptr_t handle);

/* ------------------------------------------------------------------ counting */

struct comm *known(MPI_Comm comm);
void forget_comm(MPI_Comm comm);
void free_comm(struct comm *gone);
void forget_request(MPI_Request handle);

/* Keeps what a persistent request will do. */
void keep_request(struct started *made, MPI_Request handle, enum call call);
void count_start(MPI_Request handle, enum call call, int64_t ns);

/* Returns the rank in MPI_COMM_WORLD of a partner, or -1 if it is of another world. */
int world_rank(MPI_Comm comm, int rank);

/*
 * Sizes in bytes, and how many of its blocks a process hands over. Only arguments that are significant at this process
 * are touched: others may be anything, and MPI ends the program that asks it for the size of no datatype.
 */

/* Returns the bytes of a message, or of one block of a collective: true data, without the gaps of its datatype. */
int64_t extent(MPI_Count count, MPI_Datatype type);

/* Return one of an array of counts, and the bytes of all of them. `width` is that of a count: int or MPI_Count. */
int64_t count_at(const void *counts, size_t width, int i);
int64_t total(int n, const void *counts, size_t width, MPI_Datatype type);
int64_t total_of_types(int n, const void *counts, size_t width, const MPI_Datatype *types);

/* Returns how many neighbours a process sends to, those beyond an open border (MPI_PROC_NULL) included. */
int neighbours_in(MPI_Comm comm);

/* Returns whether this process is the one whose data a rooted collective hands out. */
bool sends(MPI_Comm comm, int root);

/* Notes: one of them for each call. */
void alone(const struct at *at, int64_t size); /* of no communicator, or of one that is not known any more */
void sent(const struct at *at, MPI_Comm comm, int dest, int64_t size);
void blocks(const struct at *at, MPI_Comm comm, int64_t size, int times);
void varied(const struct at *at, MPI_Comm comm, int n, int64_t bytes); /* n blocks that differ: the size is the mean */

/* ------------------------------------------------------------------ begin and end */

void begin_profile(void);
void end_profile(void);

#endif
#endif
