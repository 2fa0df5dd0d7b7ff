// SPDX-License-Identifier: BSD-3-Clause
/*
 * The begin and the end of a profile, and the calls that make or free what it knows:
 * those that the table of calls.h cannot say.
 */
#ifndef PROFILE_RUN_H
#define PROFILE_RUN_H

#define FIND(name) *(void **)&next = next_of("MPI_" #name)

static int64_t cpu_ns(void)
{
    return now_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static void begin(void)
{
    int provided = MPI_THREAD_SINGLE;
    const char *file = getenv("FABRIC_PROFILE");
    if (p.is_on || file == NULL || *file == '\0' || PMPI_Comm_dup(MPI_COMM_WORLD, &p.own) != MPI_SUCCESS) {
        return;
    }
    PMPI_Comm_rank(p.own, &p.rank);
    PMPI_Comm_size(p.own, &p.ranks);
    PMPI_Query_thread(&provided);
    p.is_threaded = provided == MPI_THREAD_MULTIPLE;
    p.partners = calloc((size_t)p.ranks + 1, sizeof *p.partners);
    p.file = file;
    p.began_ns = now_ns(CLOCK_MONOTONIC);
    p.began_cpu_ns = cpu_ns();
    trace_begins();
    p.is_on = true;
}

EXPORT int MPI_Init(int *argc, char ***argv)
{
    int(*next) (int *, char ***);
    FIND(Init);
    depth++;
    const int code = next(argc, argv);
    if (code == MPI_SUCCESS) {
        begin();
    }
    left();
    return code;
}

EXPORT int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int(*next) (int *, char ***, int, int *);
    FIND(Init_thread);
    depth++;
    const int code = next(argc, argv, required, provided);
    if (code == MPI_SUCCESS) {
        begin();
    }
    left();
    return code;
}

EXPORT int MPI_Pcontrol(const int level, ...)
{
    if (t.is_on && p.is_paused && level != 0) {
        trace_leaves(); /* what is computed in a pause is none of the trace */
    }
    if (t.is_on && !p.is_paused && level == 0) {
        trace_enters();
    }
    p.is_paused = level == 0;
    return MPI_SUCCESS;
}

/* ------------------------------------------------------------------ what is forgotten */

static void forget_both(MPI_Request handle)
{
    if (t.is_on) {
        traced_free(handle);
    }
    forget_request(handle);
}

#define FORGETTING(name, type, forget)                                                                                 \
    EXPORT int MPI_##name(type *handle)                                                                                \
    {                                                                                                                  \
        int(*next)(type *);                                                                                            \
        FIND(name);                                                                                                    \
        depth++;                                                                                                       \
        locked();                                                                                                      \
        forget(*handle);                                                                                               \
        unlocked();                                                                                                    \
        const int code = next(handle);                                                                                 \
        left();                                                                                                        \
        return code;                                                                                                   \
    }
FORGETTING(Comm_free, MPI_Comm, forget_comm)
FORGETTING(Comm_disconnect, MPI_Comm, forget_comm)
FORGETTING(Win_free, MPI_Win, forget_window)
FORGETTING(Request_free, MPI_Request, forget_both)

/* ------------------------------------------------------------------ starts of persistent requests */

/* Each of them is counted, with its part of the time. */
static void count_starts(int n, const MPI_Request requests[], enum call call, int64_t ns)
{
    locked();
    for (int i = 0; i < n; i++) {
        count_start(requests[i], call, ns / n);
        if (t.is_on) {
            traced_start(requests[i], call);
        }
    }
    unlocked();
}

#define STARTING(name, parameters, arguments, n, requests)                                                             \
    EXPORT int MPI_##name parameters                                                                                   \
    {                                                                                                                  \
        static int(*next) parameters;                                                                                  \
        if (next == NULL) {                                                                                            \
            FIND(name);                                                                                                \
        }                                                                                                              \
        const bool is_counted = entered();                                                                             \
        if (is_counted && t.is_on) {                                                                                   \
            trace_enters();                                                                                            \
        }                                                                                                              \
        const int64_t began = now_ns(CLOCK_MONOTONIC);                                                                 \
        const int code = next arguments;                                                                               \
        const int64_t ns = now_ns(CLOCK_MONOTONIC) - began;                                                            \
        if (is_counted && code == MPI_SUCCESS) {                                                                       \
            count_starts(n, requests, call_##name, ns);                                                                \
        }                                                                                                              \
        if (is_counted && t.is_on) {                                                                                   \
            trace_leaves();                                                                                            \
        }                                                                                                              \
        left();                                                                                                        \
        return code;                                                                                                   \
    }
STARTING(Start, (MPI_Request * request), (request), 1, request)
STARTING(Startall, (int n, MPI_Request requests[]), (n, requests), n, requests)

/* ------------------------------------------------------------------ the end */

/* What would break a field of a row. */
static void clean(char *text)
{
    for (unsigned char *byte = (unsigned char *)text; *byte != '\0'; byte++) {
        if (*byte <= ' ' || *byte >= 0x7f) {
            *byte = '?';
        }
    }
}

/* What this rank has to say: a row for itself, for each entry of the table, and for each of those that it sent to. */
static void write_rows(FILE *out, int64_t ended_ns, int64_t ended_cpu_ns)
{
    char host[MPI_MAX_PROCESSOR_NAME + 1] = "";
    int length = 0;
    int64_t mpi_ns = 0;
    int rows = p.used;
    PMPI_Get_processor_name(host, &length);
    clean(host);
    for (int i = 0; i < slots; i++) {
        mpi_ns += p.table[i].ns;
    }
    for (int to = 0; p.partners != NULL && to <= p.ranks; to++) {
        rows += p.partners[to].messages > 0;
    }
    fprintf(out, "rank %d %s %.9f %.9f %.9f %lld %d\n", p.rank, host[0] == '\0' ? "?" : host,
            (double)(ended_ns - p.began_ns) / 1e9, (double)(ended_cpu_ns - p.began_cpu_ns) / 1e9,
            (double)mpi_ns / 1e9, (long long)p.not_kept, rows);
    for (int i = 0; i < slots; i++) {
        const struct entry *e = &p.table[i];
        if (e->key != 0) {
            fprintf(out, "call %s %u %s %u %lld %lld %.9f %.9f\n", names[(e->key >> 40) - 1], (unsigned)(uint32_t)e->key,
                    (e->key >> 39) & 1 ? "inter" : "intra", (unsigned)((e->key >> 32) & 0x7f), (long long)e->count,
                    (long long)e->bytes, (double)e->ns / 1e9, (double)e->longest_ns / 1e9);
        }
    }
    for (int to = 0; p.partners != NULL && to <= p.ranks; to++) {
        if (p.partners[to].messages > 0) {
            fprintf(out, "to %d %lld %lld\n", to < p.ranks ? to : -1, (long long)p.partners[to].messages,
                    (long long)p.partners[to].bytes);
        }
    }
}

/* Rank 0 asks one rank after the other, so that it never holds more than one piece of a text. */
static void hand_over(const char *text, int64_t length)
{
    long long told = length;
    PMPI_Recv(NULL, 0, MPI_CHAR, 0, 0, p.own, MPI_STATUS_IGNORE);
    PMPI_Send(&told, 1, MPI_LONG_LONG, 0, 0, p.own);
    for (int64_t at = 0; at < length; at += piece) {
        PMPI_Send(text + at, (int)(length - at < piece ? length - at : piece), MPI_CHAR, 0, 0, p.own);
    }
}

static void take_over(FILE *out, int from, char *room)
{
    long long length = 0;
    PMPI_Send(NULL, 0, MPI_CHAR, from, 0, p.own);
    PMPI_Recv(&length, 1, MPI_LONG_LONG, from, 0, p.own, MPI_STATUS_IGNORE);
    for (int64_t at = 0; at < length; at += piece) {
        const int part = (int)(length - at < piece ? length - at : piece);
        PMPI_Recv(room, part, MPI_CHAR, from, 0, p.own, MPI_STATUS_IGNORE);
        if (out != NULL) {
            fwrite(room, 1, (size_t)part, out);
        }
    }
}

static void write_file(const char *text, size_t length)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
    int told = 0;
    static char room[piece];
    FILE *out = fopen(p.file, "w");
    if (out == NULL) {
        fprintf(stderr, "profile: %s: %s; no profile is written\n", p.file, strerror(errno));
    } else {
        PMPI_Get_library_version(version, &told);
        version[strcspn(version, "\r\n")] = '\0';
        fprintf(out, "# fabric-checks profile " FORMAT "\n# mpi: %s\n# ranks: %d\n", version, p.ranks);
        fwrite(text, 1, length, out);
    }
    for (int from = 1; from < p.ranks; from++) {
        take_over(out, from, room);
    }
    if (out != NULL) {
        fprintf(out, "# complete: %d ranks\n", p.ranks);
        const bool failed = ferror(out) != 0;
        if (fclose(out) != 0 || failed) {
            fprintf(stderr, "profile: %s: %s; the profile is incomplete\n", p.file, strerror(errno));
        }
    }
}

static void end(void)
{
    const int64_t ended_ns = now_ns(CLOCK_MONOTONIC);
    const int64_t ended_cpu_ns = cpu_ns();
    char *text = NULL;
    size_t length = 0;
    p.is_on = false;
    FILE *out = open_memstream(&text, &length);
    if (out != NULL) {
        write_rows(out, ended_ns, ended_cpu_ns);
        fclose(out);
    }
    if (p.rank == 0) {
        write_file(text, length);
    } else {
        hand_over(text, (int64_t)length);
    }
    free(text);
    PMPI_Comm_free(&p.own);
}

EXPORT int MPI_Finalize(void)
{
    int(*next) (void);
    FIND(Finalize);
    depth++;
    if (p.is_on) {
        if (t.is_on) {
            if (!p.is_paused) {
                trace_enters();
            }
            trace_is_whole();
        }
        end();
    }
    const int code = next();
    left();
    return code;
}

#endif
