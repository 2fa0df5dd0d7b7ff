// SPDX-License-Identifier: BSD-3-Clause
/*
 * The trace: what SimGrid's SMPI replays, an action a line, of each rank in a file of
 * its own, FABRIC_TRACE/rank-N.trace. It is written if FABRIC_TRACE names a folder.
 *
 *   0 compute 125000              flops: a nanosecond of the thread's processor time is one
 *   0 isend 1 7 4096              to rank 1 of MPI_COMM_WORLD, tag, bytes
 *   0 wait 0 1 7                  for the message from 0 to 1 with that tag
 *   0 allreduce 3 0 0             elements, computation, type
 *
 * A replay has one communicator, so collectives of fewer ranks than the world have no
 * action; nor have non-blocking collectives, one-sided calls, and messages that are sent
 * synchronously or by a buffer. A call without one ends the trace: its last line says
 * why, and nobody takes what is there for the whole. Receives from any source, and of
 * any tag, are written with what came.
 */
#ifndef PROFILE_TRACE_H
#define PROFILE_TRACE_H

enum {
    highest_tag = 1 << 30, /* below it are the tags of MPI_COMM_WORLD, from it those of all others */
    groups = 256,
    world_id = 1,
    self_id = 2,
    wildcard_width = 10,
    byte_type = 6
};

/* A request of the program for a message: under way, or a persistent one. */
struct pending {
    struct pending *next;
    uintptr_t handle;
    struct comm *of; /* of a receive that takes what comes */
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
    int active; /* requests under way */
    struct pending *requests[buckets];
    int room;
    MPI_Request *taken;    /* what a call waits for, as it was before the call */
    MPI_Status *statuses;  /* where the program does not want them */
    uint64_t groups[groups]; /* of processes that share communicators, and how many of these there are */
    int shared[groups];
    char file[4096];
} t;

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

__attribute__((format(printf, 1, 2))) static void add_end(const char *format, ...)
{
    char rest[96];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(rest, sizeof rest, format, arguments);
    va_end(arguments);
    add("%s", rest);
    action_ends();
}

/* ------------------------------------------------------------------ begin, computation, end */

static void trace_begins(void)
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
    t.written += fprintf(t.out, "# fabric-checks trace 1\n# rank: %d of %d\n# flops/s: 1000000000\n", p.rank, p.ranks);
    action("init");
    action_ends();
    fflush(t.out); /* so that what does not end well is told from what is no trace */
    t.left_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* At the begin of a call: what was computed since the last one. Whether there is a trace yet. */
static bool trace_enters(void)
{
    if (!pthread_equal(t.thread, pthread_self())) {
        locked();
        trace_stops("calls of several threads of a rank cannot be replayed");
        unlocked();
        return false;
    }
    t.compute_ns += now_ns(CLOCK_THREAD_CPUTIME_ID) - t.left_ns;
    return true;
}

static void trace_leaves(void)
{
    t.left_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void trace_is_whole(void)
{
    char count[32];
    action("finalize");
    action_ends();
    snprintf(count, sizeof count, "%lld actions", (long long)t.actions);
    trace_ends("complete", count);
}

static void cannot(const struct at *at)
{
    trace_stops("MPI_%s cannot be replayed", names[at->call]);
}

/* What has no time of its own in a replay: a Probe, because the receive waits. */
#define nothing (void)0

/* ------------------------------------------------------------------ communicators */

/* A communicator that the program has made: told from others by its processes and by how many they made before. */
static void made_comm(MPI_Comm comm)
{
    if (comm == MPI_COMM_NULL) {
        return;
    }
    struct comm *of = (struct comm *)known(comm);
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

/* The tag that tells messages of one communicator from those of another. Of others than the world it is a hash: two
   that are equal would need messages of one pair to be under way at once, and one chance in 2^30. */
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

/* Whether a collective has an action; the one of a process alone has none and needs none. */
static bool spans(const struct at *at, MPI_Comm comm)
{
    const struct comm *of = known(comm);
    if (of->is_inter) {
        trace_stops("MPI_%s between two groups cannot be replayed", names[at->call]);
    } else if (of->size != 1 && of->size != p.ranks) {
        trace_stops("MPI_%s of %d of the %d ranks cannot be replayed", names[at->call], of->size, p.ranks);
    }
    return t.is_on && of->size != 1;
}

/* ------------------------------------------------------------------ messages */

static void traced_send(MPI_Comm comm, int dest, int tag, int64_t size)
{
    if (dest != MPI_PROC_NULL) {
        action("send");
        add(" %d %d", world_rank(comm, dest), wire_tag(known(comm), tag));
        add_count(size);
        action_ends();
    }
}

static void traced_recv(MPI_Comm comm, int source, int64_t size, const MPI_Status *status)
{
    if (source != MPI_PROC_NULL) {
        action("recv");
        add(" %d %d", world_rank(comm, status->MPI_SOURCE), wire_tag(known(comm), status->MPI_TAG));
        add_count(size);
        action_ends();
    }
}

/* A receive that takes what comes gets its line now, with room for what is known later. */
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

static struct pending *ask(MPI_Comm comm, MPI_Request request, bool is_send, int partner, int tag, int64_t size)
{
    struct pending *made = calloc(1, sizeof *made);
    if (made == NULL) {
        trace_stops("there is no memory to keep track of a request");
        return NULL;
    }
    struct comm *of = (struct comm *)known(comm);
    const bool is_any = !is_send && (partner == MPI_ANY_SOURCE || tag == MPI_ANY_TAG);
    made->handle = (uintptr_t)request;
    made->is_send = is_send;
    made->size = size;
    made->partner = partner == MPI_PROC_NULL || partner == MPI_ANY_SOURCE ? partner : world_rank(comm, partner);
    made->tag = is_any || partner == MPI_PROC_NULL ? MPI_ANY_TAG : wire_tag(of, tag);
    if (is_any && partner != MPI_PROC_NULL) {
        (void)world_rank(comm, 0); /* while there is the communicator */
        made->of = of;
        of->awaited++;
    }
    struct pending **list = &t.requests[bucket((uintptr_t)request)];
    made->next = *list;
    *list = made;
    return made;
}

static void traced_later(MPI_Comm comm, MPI_Request request, bool is_send, int partner, int tag, int64_t size)
{
    struct pending *made = ask(comm, request, is_send, partner, tag, size);
    if (made != NULL) {
        post(made);
    }
}

static void traced_persistent(MPI_Comm comm, MPI_Request request, bool is_send, int partner, int tag, int64_t size)
{
    struct pending *made = ask(comm, request, is_send, partner, tag, size);
    if (made != NULL) {
        made->is_persistent = true;
    }
}

/* Several may have one handle: MPICH has one for all sends that are done at once. It does not matter which is taken. */
static struct pending **find_pending(MPI_Request handle)
{
    struct pending **each = &t.requests[bucket((uintptr_t)handle)];
    while (*each != NULL && (*each)->handle != (uintptr_t)handle) {
        each = &(*each)->next;
    }
    return each;
}

static void traced_start(MPI_Request handle, enum call call)
{
    struct pending *found = *find_pending(handle);
    if (found == NULL) {
        trace_stops("MPI_%s of an unknown request cannot be replayed", names[call]);
    } else {
        post(found);
    }
}

static void drop(struct pending **found)
{
    struct pending *gone = *found;
    *found = gone->next;
    if (gone->of != NULL && --gone->of->awaited == 0 && gone->of->is_gone) {
        free(gone->of->world);
        free(gone->of);
    }
    free(gone);
}

/* MPI_Request_free: what nobody waits for has no action. */
static void traced_free(MPI_Request handle)
{
    struct pending **found = find_pending(handle);
    if (*found != NULL) {
        if ((*found)->is_active) {
            trace_stops("MPI_Request_free of a request in progress cannot be replayed");
        }
        drop(found);
    }
}

static int world_rank_of(const struct comm *of, int rank)
{
    return of->world == NULL || rank < 0 || rank >= of->partners ? -1 : of->world[rank];
}

/* What came is written where its receive left room. */
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

/* A request that a call has found to be done. */
static void completed(int index, const MPI_Status *status, bool is_all)
{
    struct pending **found = find_pending(t.taken[index]);
    struct pending *of = *found;
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
            action("wait");
            add_end(" %d %d %d", of->is_send ? p.rank : partner, of->is_send ? partner : p.rank, tag);
        }
    }
    if (!of->is_persistent) {
        drop(found);
    }
}

/* All of a call's. If nothing else is under way, it is one action: one after the other is not quite the same. */
static void completed_all(int count, const MPI_Status *statuses)
{
    int mine = 0;
    for (int i = 0; i < count; i++) {
        const struct pending *of = *find_pending(t.taken[i]);
        mine += of != NULL && of->is_active;
    }
    const bool is_all = mine > 1 && mine == t.active;
    for (int i = 0; i < count; i++) {
        completed(i, &statuses[i], is_all);
    }
    if (is_all) {
        action("waitall");
        action_ends();
    }
}

static void completed_some(int count, const int *indices, const MPI_Status *statuses)
{
    for (int i = 0; i < count && count != MPI_UNDEFINED; i++) {
        completed(indices[i], &statuses[i], false);
    }
}

/* Keep what a call is handed, and have it tell what came. */
static bool made_room(int count)
{
    if (count > t.room) {
        MPI_Request *more = realloc(t.taken, sizeof *more * (size_t)count);
        t.taken = more != NULL ? more : t.taken;
        MPI_Status *told = realloc(t.statuses, sizeof *told * (size_t)count);
        t.statuses = told != NULL ? told : t.statuses;
        if (more == NULL || told == NULL) {
            trace_stops("there is no memory for %d requests", count);
            return false;
        }
        t.room = count;
    }
    return true;
}

#define TAKE(count, requests, status, ignored)                                                                         \
    if (made_room((count) + 1)) {                                                                                      \
        memcpy(t.taken, requests, sizeof *(requests) * (size_t)((count) > 0 ? (count) : 0));                           \
        (status) = (status) == (ignored) ? t.statuses : (status);                                                      \
    }
#define TAKE_STATUS(status)                                                                                            \
    if (made_room(1)) {                                                                                                \
        (status) = (status) == MPI_STATUS_IGNORE ? t.statuses : (status);                                              \
    }

/* Both at once, as SMPI does it: SimGrid's own action has no tags. */
static void traced_sendrecv(MPI_Comm comm, int dest, int tag, int64_t size, int source, int64_t room,
                            const MPI_Status *status)
{
    const int to = dest == MPI_PROC_NULL ? 0 : world_rank(comm, dest);
    const int from = source == MPI_PROC_NULL ? 0 : world_rank(comm, status->MPI_SOURCE);
    const int out = dest == MPI_PROC_NULL ? 0 : wire_tag(known(comm), tag);
    const int in = source == MPI_PROC_NULL ? 0 : wire_tag(known(comm), status->MPI_TAG);
    if (dest != MPI_PROC_NULL) {
        action("isend");
        add(" %d %d", to, out);
        add_count(size);
        action_ends();
    }
    if (source != MPI_PROC_NULL) {
        action("irecv");
        add(" %d %d", from, in);
        add_count(room);
        action_ends();
    }
    if (dest != MPI_PROC_NULL) {
        action("wait");
        add_end(" %d %d %d", p.rank, to, out);
    }
    if (source != MPI_PROC_NULL) {
        action("wait");
        add_end(" %d %d %d", from, p.rank, in);
    }
}

/* ------------------------------------------------------------------ collectives */

/* SimGrid's number of a type of that size: algorithms depend on the number of elements. What has none counts by bytes. */
static int type_of(MPI_Datatype type, int64_t *unit)
{
    const int64_t size = extent(1, type);
    *unit = 1;
    switch (size) {
    case 16:
        return 14;
    case 8:
        return 0;
    case 4:
        return 1;
    case 2:
        return 3;
    case 1:
        return byte_type;
    default:
        *unit = size;
        return byte_type;
    }
}

/* A number of an array of counts, which are of the one type or the other. */
static int64_t count_of(const void *counts, size_t width, int i)
{
    if (counts == NULL) {
        return 0;
    }
    return width == sizeof(int) ? ((const int *)counts)[i] : (int64_t)((const MPI_Count *)counts)[i];
}

static int64_t sum_of(const void *counts, size_t width)
{
    int64_t sum = 0;
    for (int i = 0; i < p.ranks; i++) {
        sum += count_of(counts, width, i);
    }
    return sum;
}

static void add_counts(MPI_Comm comm, const void *counts, size_t width, int64_t unit)
{
    for (int i = 0; i < p.ranks; i++) {
        if (world_rank(comm, i) != i) {
            trace_stops("counts of ranks in an order other than that of MPI_COMM_WORLD cannot be replayed");
        }
        add_count(count_of(counts, width, i) * unit);
    }
}

static void traced_barrier(const struct at *at, MPI_Comm comm)
{
    if (spans(at, comm)) {
        action("barrier");
        action_ends();
    }
}

static void traced_bcast(const struct at *at, MPI_Comm comm, int64_t count, MPI_Datatype type, int root)
{
    if (spans(at, comm)) {
        int64_t unit;
        const int id = type_of(type, &unit);
        action("bcast");
        add_count(count * unit);
        add_end(" %d %d", world_rank(comm, root), id);
    }
}

/* What reduces: elements, no computation of its own, a root or none, the type. */
static void traced_reduction(const struct at *at, const char *name, MPI_Comm comm, int64_t count, MPI_Datatype type,
                             int root)
{
    if (spans(at, comm)) {
        int64_t unit;
        const int id = type_of(type, &unit);
        action(name);
        add_count(count * unit);
        add(" 0");
        if (root >= 0) {
            add(" %d", world_rank(comm, root));
        }
        add_end(" %d", id);
    }
}

static void traced_reduce_scatter(const struct at *at, MPI_Comm comm, const void *counts, size_t width, int64_t each,
                                  MPI_Datatype type)
{
    if (spans(at, comm)) {
        int64_t unit;
        const int id = type_of(type, &unit);
        action("reducescatter");
        for (int i = 0; i < p.ranks; i++) {
            add_count((counts == NULL ? each : count_of(counts, width, i)) * unit);
        }
        add_end(" 0 %d", id);
    }
}

/* Blocks of one size: what a rank hands over and takes in, a root or none, both types. */
static void traced_blocks(const struct at *at, const char *name, MPI_Comm comm, int64_t count, MPI_Datatype type,
                          int64_t room, MPI_Datatype into_type, int root)
{
    if (spans(at, comm)) {
        int64_t unit;
        int64_t into_unit;
        const int id = type_of(type, &unit);
        const int into_id = type_of(into_type, &into_unit);
        action(name);
        add_count(count * unit);
        add_count(room * into_unit);
        if (root >= 0) {
            add(" %d", world_rank(comm, root));
        }
        add_end(" %d %d", id, into_id);
    }
}

/* Gatherv and Allgatherv: what this rank hands over, what each does. */
static void traced_gatherv(const struct at *at, const char *name, MPI_Comm comm, int64_t count, MPI_Datatype type,
                           const void *rooms, size_t width, MPI_Datatype into_type, int root)
{
    if (spans(at, comm)) {
        int64_t unit;
        int64_t into_unit;
        const int id = type_of(type, &unit);
        const int into_id = type_of(into_type, &into_unit);
        action(name);
        add_count(count * unit);
        add_counts(comm, rooms, width, into_unit);
        if (root >= 0) {
            add(" %d", world_rank(comm, root));
        }
        add_end(" %d %d", id, into_id);
    }
}

static void traced_scatterv(const struct at *at, MPI_Comm comm, const void *counts, size_t width, MPI_Datatype type,
                            int64_t room, MPI_Datatype into_type, int root)
{
    if (spans(at, comm)) {
        int64_t unit;
        int64_t into_unit;
        const int id = type_of(type, &unit);
        const int into_id = type_of(into_type, &into_unit);
        action("scatterv");
        add_counts(comm, counts, width, unit);
        add_count(room * into_unit);
        add_end(" %d %d %d", world_rank(comm, root), id, into_id);
    }
}

static void traced_alltoallv(const struct at *at, MPI_Comm comm, const void *counts, MPI_Datatype type,
                             const void *rooms, size_t width, MPI_Datatype into_type)
{
    if (spans(at, comm)) {
        int64_t unit;
        int64_t into_unit;
        const int id = type_of(type, &unit);
        const int into_id = type_of(into_type, &into_unit);
        action("alltoallv");
        add_count(sum_of(counts, width) * unit);
        add_counts(comm, counts, width, unit);
        add_count(sum_of(rooms, width) * into_unit);
        add_counts(comm, rooms, width, into_unit);
        add_end(" %d %d", id, into_id);
    }
}

#endif
