// SPDX-License-Identifier: BSD-3-Clause
/*
 * A library between a program and its MPI that counts what the program asks MPI for:
 * for each call, size of communicator and size of message the number of calls, their
 * bytes and their time, and to whom the messages go; of each rank.
 *
 *   LD_PRELOAD=profile.so FABRIC_PROFILE=FILE program      in every rank, as by mpirun -np 4 env ...
 *
 * Rank 0 writes FILE in MPI_Finalize. With FABRIC_TRACE=FOLDER each rank writes what
 * SimGrid can replay, too (trace.h): up to FABRIC_TRACE_BYTES together. Without FABRIC_PROFILE every call is passed on
 * and nothing is counted. MPI_Pcontrol(0) pauses it, MPI_Pcontrol(1) goes on.
 *
 * Two rules: what the program does stays what it is without this, and nothing here can
 * make it fail. Each call is passed to the next library that has it, so another tool of
 * this kind may stand behind this one. Its tables are of fixed size, but for one entry
 * for each communicator and persistent request that there is at a time, and one for each
 * rank: memory does not grow with run time.
 *
 * It has static data, unlike the programs beside it: an MPI's tools cannot do without.
 * So it is empty where a simulator runs all ranks in one process.
 */
#define _GNU_SOURCE
#include <mpi.h>

#ifdef SMPI_H
typedef int fc_nothing_to_profile;
#else

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define FORMAT "1"
#define HAS_COUNTS (MPI_VERSION >= 4)
#if defined(OMPI_MAJOR_VERSION)
#define HAS_MPI_4 (OMPI_MAJOR_VERSION >= 5) /* it calls itself 3.1, and has them */
#define PARTITIONS int *
#else
#define HAS_MPI_4 (MPI_VERSION >= 4)
#define PARTITIONS const int *
#endif

/* ------------------------------------------------------------------ the numbers of the calls, and their names */

#define ONCE
#define COUNT int
#define DISPL int
#define CALL(name, ...) NAMED(name)
#define TRACED(name, ...) NAMED(name)
#define COMPLETES(name, ...) NAMED(name)
#define PERSISTENT(name, start, ...) NAMED(name) NAMED(start)
#define TRACED_PERSISTENT(name, start, ...) NAMED(name) NAMED(start)
#define ONE_SIDED(name, lower, ...) NAMED(name) NAMED(R##lower)
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
static const char *const names[] = {
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
#undef ONE_SIDED
#undef COLLECTIVE
#undef TRACED_COLLECTIVE

/* ------------------------------------------------------------------ what is kept */

enum {
    slots = 4096, /* of the table: a power of two */
    fullest = 3072,
    buckets = 256,
    longest_host = 256,
    piece = 1 << 20 /* bytes of a text that are sent at once */
};

/* A call, the size of its communicator, and the power of two that its size is below. */
struct entry {
    uint64_t key; /* 0: free */
    int64_t count;
    int64_t bytes;
    int64_t ns;
    int64_t longest_ns;
};

struct comm {
    struct comm *next;
    uintptr_t handle;
    int rank;
    int size;
    int partners; /* the group that messages go to */
    bool is_inter;
    int *world; /* world ranks of the partners; made with the first message */
    uint64_t id;  /* in the trace; 0: of a communicator that is not traced */
    int awaited;  /* receives that wait for what comes by it, in the trace */
    bool is_gone; /* freed by the program; kept for those */
};

struct window {
    struct window *next;
    uintptr_t handle;
    int size;
};

/* What a persistent request does each time that it is started. */
struct started {
    struct started *next;
    uintptr_t handle;
    enum call call;
    int comm_size;
    bool is_inter;
    int64_t size;
    int64_t bytes;
    int partner; /* -1: none */
};

struct partner {
    int64_t messages;
    int64_t bytes;
};

/* A call that is under way: which, how long it took, and of a persistent one the request that it made. */
struct at {
    enum call call;
    int64_t ns;
    struct started *made;
};

static struct {
    bool is_on;      /* between MPI_Init and MPI_Finalize, with a file to write */
    bool is_paused;  /* by MPI_Pcontrol */
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
    struct comm *comms[buckets];
    struct window *windows[buckets];
    struct started *requests[buckets];
    struct partner *partners; /* of the world, and one for all others */
} p = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* An MPI may call itself by its public names; only the program's own calls count. */
static _Thread_local int depth __attribute__((tls_model("initial-exec")));

static int64_t now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int bucket(uintptr_t handle)
{
    return (int)((((uint64_t)handle * 0x9E3779B97F4A7C15U) >> 56) % buckets);
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

static void note(const struct at *at, int comm_size, bool is_inter, int64_t size, int64_t bytes)
{
    if (at->made == NULL) {
        tally(at->call, comm_size, is_inter, size, bytes, at->ns);
        return;
    }
    /* It is made now, and moves something when it is started. */
    tally(at->call, comm_size, is_inter, size, 0, at->ns);
    at->made->comm_size = comm_size;
    at->made->is_inter = is_inter;
    at->made->size = size;
    at->made->bytes = bytes;
}

static void count_partner(int world_rank, int64_t bytes)
{
    if (p.partners != NULL) {
        struct partner *to = &p.partners[world_rank >= 0 && world_rank < p.ranks ? world_rank : p.ranks];
        to->messages++;
        to->bytes += bytes;
    }
}

static void note_partner(const struct at *at, int world_rank, int64_t bytes)
{
    if (at->made == NULL) {
        count_partner(world_rank, bytes);
    } else {
        at->made->partner = world_rank >= 0 ? world_rank : p.ranks;
    }
}

/* ------------------------------------------------------------------ communicators and windows */

static const struct comm *known(MPI_Comm comm)
{
    static const struct comm unknown = {.rank = 0};
    const uintptr_t handle = (uintptr_t)comm;
    struct comm **list = &p.comms[bucket(handle)];
    for (const struct comm *each = *list; each != NULL; each = each->next) {
        if (each->handle == handle) {
            return each;
        }
    }
    struct comm *made = calloc(1, sizeof *made);
    int is_inter = 0;
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
    made->handle = handle;
    made->id = comm == MPI_COMM_WORLD ? 1 : comm == MPI_COMM_SELF ? 2 : 0;
    made->next = *list;
    *list = made;
    return made;
}

/* The rank in MPI_COMM_WORLD of a partner, or -1 if it is of another world. */
static int world_rank(MPI_Comm comm, int rank)
{
    struct comm *of = (struct comm *)known(comm);
    if (rank < 0 || rank >= of->partners) {
        return -1;
    }
    if (of->world == NULL) {
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
        if (of->world == NULL) {
            return -1;
        }
    }
    return of->world[rank] == MPI_UNDEFINED ? -1 : of->world[rank];
}

static void forget_comm(MPI_Comm comm)
{
    for (struct comm **each = &p.comms[bucket((uintptr_t)comm)]; *each != NULL; each = &(*each)->next) {
        if ((*each)->handle == (uintptr_t)comm) {
            struct comm *gone = *each;
            *each = gone->next;
            if (gone->awaited > 0) {
                gone->is_gone = true;
                return;
            }
            free(gone->world);
            free(gone);
            return;
        }
    }
}

static int window_size(MPI_Win win)
{
    struct window **list = &p.windows[bucket((uintptr_t)win)];
    for (const struct window *each = *list; each != NULL; each = each->next) {
        if (each->handle == (uintptr_t)win) {
            return each->size;
        }
    }
    struct window *made = calloc(1, sizeof *made);
    MPI_Group group = MPI_GROUP_NULL;
    if (made == NULL || PMPI_Win_get_group(win, &group) != MPI_SUCCESS) {
        free(made);
        return 0;
    }
    PMPI_Group_size(group, &made->size);
    PMPI_Group_free(&group);
    made->handle = (uintptr_t)win;
    made->next = *list;
    *list = made;
    return made->size;
}

static void forget_window(MPI_Win win)
{
    for (struct window **each = &p.windows[bucket((uintptr_t)win)]; *each != NULL; each = &(*each)->next) {
        if ((*each)->handle == (uintptr_t)win) {
            struct window *gone = *each;
            *each = gone->next;
            free(gone);
            return;
        }
    }
}

static struct started **find_request(MPI_Request handle)
{
    struct started **each = &p.requests[bucket((uintptr_t)handle)];
    while (*each != NULL && (*each)->handle != (uintptr_t)handle) {
        each = &(*each)->next;
    }
    return each;
}

static void forget_request(MPI_Request handle)
{
    struct started **found = find_request(handle);
    if (*found != NULL) {
        struct started *gone = *found;
        *found = gone->next;
        free(gone);
    }
}

/* Keep what a persistent request will do. */
static void keep(struct started *made, MPI_Request handle, enum call call)
{
    forget_request(handle);
    struct started **list = &p.requests[bucket((uintptr_t)handle)];
    made->handle = (uintptr_t)handle;
    made->call = call;
    made->next = *list;
    *list = made;
}

static void count_start(MPI_Request handle, enum call call, int64_t ns)
{
    const struct started *found = *find_request(handle);
    if (found == NULL) {
        tally(call, 0, false, 0, 0, ns);
        return;
    }
    tally(found->call, found->comm_size, found->is_inter, found->size, found->bytes, ns);
    if (found->partner >= 0) {
        count_partner(found->partner, found->size);
    }
}

/* ------------------------------------------------------------------ around a call */

static bool entered(void)
{
    return ++depth == 1 && p.is_on && !p.is_paused;
}

static void left(void)
{
    depth--;
}

static void locked(void)
{
    if (p.is_threaded) {
        pthread_mutex_lock(&p.lock);
    }
}

static void unlocked(void)
{
    if (p.is_threaded) {
        pthread_mutex_unlock(&p.lock);
    }
}

/* The next library's function of a name, which is MPI's unless there is another tool. */
static void *next_of(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (found == NULL) {
        fprintf(stderr, "profile: there is no %s behind this library\n", name);
        abort();
    }
    return found;
}

#define EXPORT __attribute__((visibility("default")))
/* The name behind a macro. */
#define TEXT(name) TEXT_OF(name)
#define TEXT_OF(name) #name

#include "notes.h"
#include "trace.h"

#define FUNCTION(symbol, number, parameters, arguments, taken, noted, traced)                                          \
    EXPORT int symbol parameters                                                                                       \
    {                                                                                                                  \
        static int(*next) parameters;                                                                                  \
        if (next == NULL) {                                                                                            \
            *(void **)&next = next_of(TEXT(symbol)); /* as POSIX has it for functions */                                 \
        }                                                                                                              \
        if (!entered()) {                                                                                              \
            const int code = next arguments;                                                                           \
            left();                                                                                                    \
            return code;                                                                                               \
        }                                                                                                              \
        if (t.is_on && trace_enters()) {                                                                               \
            taken;                                                                                                     \
        }                                                                                                              \
        const int64_t began = now_ns(CLOCK_MONOTONIC);                                                                 \
        const int code = next arguments;                                                                               \
        const struct at here = {.call = number, .ns = now_ns(CLOCK_MONOTONIC) - began};                                \
        const struct at *at = &here;                                                                                   \
        if (code == MPI_SUCCESS) {                                                                                     \
            locked();                                                                                                  \
            noted;                                                                                                     \
            if (t.is_on) {                                                                                             \
                traced;                                                                                                \
            }                                                                                                          \
            unlocked();                                                                                                \
        }                                                                                                              \
        if (t.is_on) {                                                                                                 \
            trace_leaves();                                                                                            \
        }                                                                                                              \
        left();                                                                                                        \
        return code;                                                                                                   \
    }

#define FUNCTION_PERSISTENT(symbol, number, started_as, parameters, arguments, noted, traced)                          \
    EXPORT int symbol parameters                                                                                       \
    {                                                                                                                  \
        static int(*next) parameters;                                                                                  \
        if (next == NULL) {                                                                                            \
            *(void **)&next = next_of(TEXT(symbol)); /* as POSIX has it for functions */                                 \
        }                                                                                                              \
        const bool is_counted = entered();                                                                             \
        if (is_counted && t.is_on) {                                                                                   \
            trace_enters();                                                                                            \
        }                                                                                                              \
        const int64_t began = now_ns(CLOCK_MONOTONIC);                                                                 \
        const int code = next arguments;                                                                               \
        const int64_t ns = now_ns(CLOCK_MONOTONIC) - began;                                                            \
        struct started *made = is_counted && code == MPI_SUCCESS ? calloc(1, sizeof *made) : NULL;                     \
        if (made != NULL) {                                                                                            \
            const struct at here = {.call = number, .ns = ns, .made = made};                                           \
            const struct at *at = &here;                                                                               \
            made->partner = -1;                                                                                        \
            locked();                                                                                                  \
            noted;                                                                                                     \
            keep(made, *request, started_as);                                                                          \
            if (t.is_on) {                                                                                             \
                traced;                                                                                                \
            }                                                                                                          \
            unlocked();                                                                                                \
        }                                                                                                              \
        if (is_counted && t.is_on) {                                                                                   \
            trace_leaves();                                                                                            \
        }                                                                                                              \
        left();                                                                                                        \
        return code;                                                                                                   \
    }

/* A parameter list with what the later forms add. */
#define INNER(...) __VA_ARGS__
#define WITH_REQUEST(...) (__VA_ARGS__, MPI_Request *request)
#define WITH_INFO(...) (__VA_ARGS__, MPI_Info info, MPI_Request *request)
#define AND_REQUEST(...) (__VA_ARGS__, request)
#define AND_INFO(...) (__VA_ARGS__, info, request)

#define CALL(name, parameters, arguments, noted)                                                                       \
    FUNCTION(SYMBOL(name), call_##name, parameters, arguments, nothing, noted, cannot(at))
#define TRACED(name, parameters, arguments, noted, traced)                                                             \
    FUNCTION(SYMBOL(name), call_##name, parameters, arguments, nothing, noted, traced)
#define COMPLETES(name, parameters, arguments, taken, noted, traced)                                                   \
    FUNCTION(SYMBOL(name), call_##name, parameters, arguments, taken, noted, traced)
#define TRACED_PERSISTENT(name, start, parameters, arguments, noted, traced)                                           \
    FUNCTION_PERSISTENT(SYMBOL(name), call_##name, call_##start, parameters, arguments, noted, traced)
#define PERSISTENT(name, start, parameters, arguments, noted)                                                          \
    TRACED_PERSISTENT(name, start, parameters, arguments, noted, cannot(at))
#define ONE_SIDED(name, lower, parameters, arguments, noted)                                                           \
    CALL(name, parameters, arguments, noted)                                                                           \
    CALL(R##lower, WITH_REQUEST parameters, AND_REQUEST arguments, noted)
#define BLOCKING_AND_NOT(name, lower, parameters, arguments, noted, traced)                                            \
    TRACED(name, parameters, arguments, noted, traced)                                                                 \
    CALL(I##lower, WITH_REQUEST parameters, AND_REQUEST arguments, noted)
#if HAS_MPI_4
#define TRACED_COLLECTIVE(name, lower, parameters, arguments, noted, traced)                                           \
    BLOCKING_AND_NOT(name, lower, parameters, arguments, noted, traced)                                                \
    PERSISTENT(name##_init, name##_start, WITH_INFO parameters, AND_INFO arguments, noted)
#else
#define TRACED_COLLECTIVE BLOCKING_AND_NOT
#endif
#define COLLECTIVE(name, lower, parameters, arguments, noted)                                                          \
    TRACED_COLLECTIVE(name, lower, parameters, arguments, noted, cannot(at))

#define SYMBOL(name) MPI_##name
#include "calls.h"
#undef SYMBOL

#if HAS_COUNTS
#undef ONCE
#undef COUNT
#undef DISPL
#define COUNT MPI_Count
#define DISPL MPI_Aint
#define SYMBOL(name) MPI_##name##_c
#include "calls.h"
#undef SYMBOL
#endif

#include "run.h"

#endif
