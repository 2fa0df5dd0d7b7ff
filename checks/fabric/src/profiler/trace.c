// SPDX-License-Identifier: BSD-3-Clause
#include "trace.h"

#ifndef SMPI_H

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    highest_tag = 1 << 30, /* below it are the tags of MPI_COMM_WORLD, from it those of all others */
    groups = 256,
    world_id = 1, /* see known() */
    wildcard_width = 10,
    byte_type = 6
};

/* A request of the program for a message: in progress, or a persistent one. */
struct pending {
    struct kept kept;
    struct comm *of; /* of a receive from any source or of any tag */
    int partner;     /* world rank, or MPI_ANY_SOURCE, or MPI_PROC_NULL */
    int tag;         /* on the wire, or MPI_ANY_TAG */
    int64_t size;
    bool is_send;
    bool is_active;
    bool is_persistent;
    int64_t at; /* where its line has the partner, if that is not known yet */
};

static struct {
    bool is_on;
    FILE *out;
    int64_t written;
    int64_t limit;
    int64_t actions;
    int64_t left_ns;    /* processor time when the last call was left */
    int64_t compute_ns; /* since the last action */
    pthread_t thread;
    int active; /* requests in progress */
    struct table requests;
    int room;
    MPI_Request *taken;      /* what a call waits for, as it was before the call */
    MPI_Status *statuses;    /* where the program does not want them */
    uint64_t groups[groups]; /* of processes that share communicators, and how many of these there are */
    int shared[groups];
    char file[4096];
} t;

bool is_traced(void)
{
    return t.is_on;
}

/* ------------------------------------------------------------------ lines */

/* No line comes after this one. */
static void trace_ends(const char *how, const char *why)
{
    if (t.is_on) {
        t.is_on = false;
        fprintf(t.out, "\n# %s: %s\n", how, why); /* it may be within a line */
        const bool failed = ferror(t.out) != 0;
        if (fclose(t.out) != 0 || failed) {
            fprintf(stderr, "profile: %s: %s; the trace is incomplete\n", t.file, strerror(errno));
        }
    }
}

__attribute__((format(printf, 1, 2))) static void trace_stops(const char *format, ...)
{
    char why[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    trace_ends("stopped", why);
}

__attribute__((format(printf, 1, 2))) static void add(const char *format, ...)
{
    if (t.is_on) {
        va_list arguments;
        va_start(arguments, format);
        const int length = vfprintf(t.out, format, arguments);
        va_end(arguments);
        t.written += length > 0 ? length : 0;
    }
}

static void action_ends(void)
{
    add("\n");
    t.actions++;
    if (t.written > t.limit) {
        char why[64];
        snprintf(why, sizeof why, "the limit of %lld bytes is reached", (long long)t.limit);
        trace_ends("cut", why);
    }
}

static void action(const char *name)
{
    if (t.compute_ns > 0) {
        add("%d compute %lld", p.rank, (long long)t.compute_ns);
        t.compute_ns = 0;
        action_ends();
    }
    add("%d %s", p.rank, name);
}

/* A number of elements or bytes, which SimGrid has in an int. */
static void add_count(int64_t count)
{
    if (count > INT_MAX) {
        trace_stops("%lld bytes or elements at once are more than a replay can handle", (long long)count);
    }
    add(" %lld", (long long)count);
}

/* ------------------------------------------------------------------ begin, computation, end */

void trace_begins(void)
{
    const char *folder = getenv("FABRIC_TRACE");
    const char *limit = getenv("FABRIC_TRACE_BYTES");
    if (folder == NULL || *folder == '\0') {
        return;
    }
    const long long all = limit == NULL ? 0 : atoll(limit);
    t.limit = (all > 0 ? all : (long long)1 << 30) / p.ranks;
    snprintf(t.file, sizeof t.file, "%s/rank-%d.trace", folder, p.rank);
    t.out = fopen(t.file, "w");
    if (t.out == NULL) {
        fprintf(stderr, "profile: %s: %s; no trace is written\n", t.file, strerror(errno));
        return;
    }
    t.is_on = true;
    t.thread = pthread_self();
    add("# fabric-checks trace 1\n# rank: %d of %d\n# flops/s: 1000000000\n", p.rank, p.ranks);
    action("init");
    action_ends();
    fflush(t.out); /* a program that dies leaves a file that is recognised as a trace */
    trace_leaves();
}

void trace_enters(void)
{
    if (!t.is_on) {
        return;
    }
    if (pthread_equal(t.thread, pthread_self())) {
        t.compute_ns += now_ns(CLOCK_THREAD_CPUTIME_ID) - t.left_ns;
        return;
    }
    locked();
    trace_stops("calls of several threads of a rank cannot be replayed");
    unlocked();
}

void trace_leaves(void)
{
    if (t.is_on) {
        t.left_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
    }
}

void trace_is_whole(void)
{
    char count[32];
    action("finalize");
    action_ends();
    snprintf(count, sizeof count, "%lld actions", (long long)t.actions);
    trace_ends("complete", count);
}

void cannot(const struct at *at)
{
    trace_stops("MPI_%s cannot be replayed", call_names[at->call]);
}

/* ------------------------------------------------------------------ communicators */

/* Its number is made of its processes and of how many communicators they made before: the same on all of them. */
void made_comm(MPI_Comm comm)
{
    if (comm == MPI_COMM_NULL) {
        return;
    }
    struct comm *of = known(comm);
    uint64_t group = 0xcbf29ce484222325U;
    for (int i = 0; i < of->size; i++) {
        group = (group ^ (uint64_t)(uint32_t)world_rank(comm, i)) * 0x100000001b3U;
    }
    group |= 1;
    for (int i = 0; i < groups; i++) {
        if (t.groups[i] == 0 || t.groups[i] == group) {
            t.groups[i] = group;
            of->id = (group ^ (uint64_t)(uint32_t)++t.shared[i]) * 0x9E3779B97F4A7C15U;
            return;
        }
    }
    trace_stops("communicators of more than %d groups of processes cannot be traced", groups);
}

/*
 * Returns a tag that differs between the communicators. Other than of the world it is a hash: two that are equal would
 * need messages of one pair to be in progress at once, and one chance in 2^30.
 */
static int wire_tag(const struct comm *of, int tag)
{
    if (of->id == world_id) {
        if (tag >= highest_tag) {
            trace_stops("the tag %d is too large to be traced", tag);
        }
        return tag;
    }
    if (of->id == 0) {
        trace_stops("a message on a communicator made by a call that is not traced");
        return tag;
    }
    const uint64_t mixed = (of->id ^ (uint64_t)(uint32_t)tag) * 0x9E3779B97F4A7C15U;
    return highest_tag | (int)(mixed >> 34);
}

/* ------------------------------------------------------------------ messages */

/* One message, or the wait for it. */
static void message(const char *name, int partner, int tag, int64_t size)
{
    action(name);
    add(" %d %d", partner, tag);
    add_count(size);
    action_ends();
}

static void wait_for(int from, int to, int tag)
{
    action("wait");
    add(" %d %d %d", from, to, tag);
    action_ends();
}

void traced_send(MPI_Comm comm, int dest, int tag, int64_t size)
{
    if (dest != MPI_PROC_NULL) {
        message("send", world_rank(comm, dest), wire_tag(known(comm), tag), size);
    }
}

void traced_recv(MPI_Comm comm, int source, int64_t size, const MPI_Status *status)
{
    if (source != MPI_PROC_NULL) {
        message("recv", world_rank(comm, status->MPI_SOURCE), wire_tag(known(comm), status->MPI_TAG), size);
    }
}

/* Both at once, as SMPI does it: SimGrid's own action has no tags. */
void traced_sendrecv(MPI_Comm comm, int dest, int tag, int64_t size, int source, int64_t room, const MPI_Status *status)
{
    const int to = dest == MPI_PROC_NULL ? 0 : world_rank(comm, dest);
    const int from = source == MPI_PROC_NULL ? 0 : world_rank(comm, status->MPI_SOURCE);
    const int out = dest == MPI_PROC_NULL ? 0 : wire_tag(known(comm), tag);
    const int in = source == MPI_PROC_NULL ? 0 : wire_tag(known(comm), status->MPI_TAG);
    if (dest != MPI_PROC_NULL) {
        message("isend", to, out, size);
    }
    if (source != MPI_PROC_NULL) {
        message("irecv", from, in, room);
    }
    if (dest != MPI_PROC_NULL) {
        wait_for(p.rank, to, out);
    }
    if (source != MPI_PROC_NULL) {
        wait_for(from, p.rank, in);
    }
}

/* ------------------------------------------------------------------ requests */

/* A receive from any source gets its line now, with room for what is known later. */
static void post(struct pending *of)
{
    of->is_active = true;
    t.active++;
    if (of->partner == MPI_PROC_NULL) {
        return;
    }
    action(of->is_send ? "isend" : "irecv");
    add(" ");
    of->at = t.written;
    add("%*d %*d", wildcard_width, of->partner, wildcard_width, of->tag);
    add_count(of->size);
    action_ends();
}

void traced_request(MPI_Comm comm, MPI_Request request, bool is_persistent, bool is_send, int partner, int tag,
                    int64_t size)
{
    struct pending *made = calloc(1, sizeof *made);
    if (made == NULL) {
        trace_stops("there is no memory to keep track of a request");
        return;
    }
    struct comm *of = known(comm);
    const bool is_any = !is_send && (partner == MPI_ANY_SOURCE || tag == MPI_ANY_TAG);
    made->is_persistent = is_persistent;
    made->is_send = is_send;
    made->size = size;
    made->partner = partner == MPI_PROC_NULL || partner == MPI_ANY_SOURCE ? partner : world_rank(comm, partner);
    made->tag = is_any || partner == MPI_PROC_NULL ? MPI_ANY_TAG : wire_tag(of, tag);
    if (is_any && partner != MPI_PROC_NULL) {
        (void)world_rank(comm, 0); /* while there is the communicator */
        made->of = of;
        of->awaited++;
    }
    keep(&t.requests, &made->kept, (uintptr_t)request);
    if (!is_persistent) {
        post(made);
    }
}

/* Several may have one handle: MPICH has one for all sends that are done at once. It does not matter which is found. */
static struct pending *find_pending(MPI_Request handle)
{
    return (struct pending *)*find_kept(&t.requests, (uintptr_t)handle);
}

void traced_start(MPI_Request handle, enum call call)
{
    struct pending *found = find_pending(handle);
    if (!t.is_on) {
        return;
    }
    if (found == NULL) {
        trace_stops("MPI_%s of an unknown request cannot be replayed", call_names[call]);
    } else {
        post(found);
    }
}

/* Drops the request of a handle that find_pending has found. */
static void drop(MPI_Request handle)
{
    struct pending *gone = (struct pending *)take_out(&t.requests, (uintptr_t)handle);
    if (gone->of != NULL && --gone->of->awaited == 0 && gone->of->is_gone) {
        free_comm(gone->of);
    }
    free(gone);
}

/* MPI_Request_free: what nobody waits for has no action. */
void traced_free(MPI_Request handle)
{
    const struct pending *found = find_pending(handle);
    if (!t.is_on || found == NULL) {
        return;
    }
    if (found->is_active) {
        trace_stops("MPI_Request_free of a request in progress cannot be replayed");
    }
    drop(handle);
}

static int world_rank_of(const struct comm *of, int rank)
{
    return of->world == NULL || rank < 0 || rank >= of->partners ? -1 : of->world[rank];
}

/* Writes what came where its receive left room. */
static void fill_in(const struct pending *of, int partner, int tag)
{
    char text[2 * wildcard_width + 2];
    if (!t.is_on) {
        return;
    }
    const int length = snprintf(text, sizeof text, "%*d %*d", wildcard_width, partner, wildcard_width, tag);
    if (fflush(t.out) != 0 || pwrite(fileno(t.out), text, (size_t)length, of->at) != length) {
        trace_stops("the trace cannot be written: %s", strerror(errno));
    }
}

/* A request that a call has found to be done; of all at once the wait is one action. */
static void complete(int index, const MPI_Status *status, bool is_all)
{
    struct pending *of = find_pending(t.taken[index]);
    int cancelled = 0;
    if (of == NULL || !of->is_active) {
        return;
    }
    of->is_active = false;
    t.active--;
    if (of->partner != MPI_PROC_NULL) {
        int partner = of->partner;
        int tag = of->tag;
        PMPI_Test_cancelled(status, &cancelled);
        if (cancelled) {
            trace_stops("MPI_Cancel cannot be replayed");
        }
        if (of->of != NULL) {
            partner = world_rank_of(of->of, status->MPI_SOURCE);
            tag = wire_tag(of->of, status->MPI_TAG);
            fill_in(of, partner, tag);
        }
        if (!is_all) {
            wait_for(of->is_send ? p.rank : partner, of->is_send ? partner : p.rank, tag);
        }
    }
    if (!of->is_persistent) {
        drop(t.taken[index]);
    }
}

/* If nothing else is in progress, all are one action: one after the other is not quite the same. */
void completed_all(int count, const MPI_Status *statuses)
{
    int mine = 0;
    for (int i = 0; i < count; i++) {
        const struct pending *of = find_pending(t.taken[i]);
        mine += of != NULL && of->is_active;
    }
    const bool is_all = mine > 1 && mine == t.active;
    for (int i = 0; i < count; i++) {
        complete(i, &statuses[i], is_all);
    }
    if (is_all) {
        action("waitall");
        action_ends();
    }
}

void completed_some(int count, const int *indices, const MPI_Status *statuses)
{
    for (int i = 0; i < count && count != MPI_UNDEFINED; i++) {
        complete(indices[i], &statuses[i], false);
    }
}

MPI_Status *take(int count, const MPI_Request *requests)
{
    const int needed = count > 0 ? count : 1;
    if (needed > t.room) {
        MPI_Request *more = realloc(t.taken, sizeof *more * (size_t)needed);
        t.taken = more != NULL ? more : t.taken;
        MPI_Status *statuses = realloc(t.statuses, sizeof *statuses * (size_t)needed);
        t.statuses = statuses != NULL ? statuses : t.statuses;
        if (more == NULL || statuses == NULL) {
            trace_stops("there is no memory for %d requests", count);
            return NULL;
        }
        t.room = needed;
    }
    if (count > 0) {
        memcpy(t.taken, requests, sizeof *requests * (size_t)count);
    }
    return t.statuses;
}

/* ------------------------------------------------------------------ collectives */

/*
 * Begins the action of a collective; returns false if it has none. That of a process alone has none and needs none.
 */
static bool begins(const struct at *at, const char *name, MPI_Comm comm)
{
    const struct comm *of = known(comm);
    if (of->is_inter) {
        trace_stops("MPI_%s between two groups cannot be replayed", call_names[at->call]);
    } else if (of->size != 1 && of->size != p.ranks) {
        trace_stops("MPI_%s of %d of the %d ranks cannot be replayed", call_names[at->call], of->size, p.ranks);
    }
    if (!t.is_on || of->size == 1) {
        return false;
    }
    action(name);
    return true;
}

/* SimGrid's number of a type, and how many of them are one of the program's. */
struct unit {
    int id;
    int64_t count;
};

/* Algorithms depend on the number of elements. A type of a size that SimGrid does not have counts by bytes. */
static struct unit unit_of(MPI_Datatype type)
{
    static const int ids[] = {[1] = byte_type, [2] = 3, [4] = 1, [8] = 0, [16] = 14};
    const int64_t size = extent(1, type);
    const bool has_id = size == 1 || size == 2 || size == 4 || size == 8 || size == 16;
    return has_id ? (struct unit){ids[size], 1} : (struct unit){byte_type, size};
}

static int64_t count_of(const struct amount *of, int i)
{
    return of->counts == NULL ? of->count : count_at(of->counts, of->width, i);
}

static void add_amount(MPI_Comm comm, const struct amount *of, int64_t unit)
{
    for (int i = 0; i < of->times; i++) {
        if (of->width > 0 && world_rank(comm, i) != i) {
            trace_stops("counts of ranks in an order other than that of MPI_COMM_WORLD cannot be replayed");
        }
        add_count(count_of(of, i) * unit);
    }
}

static void add_sum(const struct amount *of, int64_t unit)
{
    int64_t sum = 0;
    for (int i = 0; i < of->times; i++) {
        sum += count_of(of, i);
    }
    add_count(sum * unit);
}

static void add_root(MPI_Comm comm, int root)
{
    if (root >= 0) {
        add(" %d", world_rank(comm, root));
    }
}

void traced_barrier(const struct at *at, MPI_Comm comm)
{
    if (begins(at, "barrier", comm)) {
        action_ends();
    }
}

void traced_elements(const struct at *at, const char *name, MPI_Comm comm, struct amount of, bool reduces, int root)
{
    if (begins(at, name, comm)) {
        const struct unit unit = unit_of(of.type);
        add_amount(comm, &of, unit.count);
        add("%s", reduces ? " 0" : ""); /* no computation of its own */
        add_root(comm, root);
        add(" %d", unit.id);
        action_ends();
    }
}

void traced_blocks(const struct at *at, const char *name, MPI_Comm comm, struct amount out, struct amount in, int root)
{
    if (begins(at, name, comm)) {
        const struct unit out_unit = unit_of(out.type);
        const struct unit in_unit = unit_of(in.type);
        const bool has_sums = out.times > 1 && in.times > 1; /* alltoallv */
        if (has_sums) {
            add_sum(&out, out_unit.count);
        }
        add_amount(comm, &out, out_unit.count);
        if (has_sums) {
            add_sum(&in, in_unit.count);
        }
        add_amount(comm, &in, in_unit.count);
        add_root(comm, root);
        add(" %d %d", out_unit.id, in_unit.id);
        action_ends();
    }
}

#endif
