// SPDX-License-Identifier: BSD-3-Clause
/*
 * Cross-section bandwidth: many pairs of nodes stream at once, over rounds that
 * change partners. After T. Naegle's `rotate` (cross-sectional bandwidth testing
 * on Feynman and Rogue, June 2004), with the patterns of two relatives: LLNL's
 * mpiGraph (`shift`) and netgauge's effective bisection bandwidth (`bisection`).
 */
#define FC_PROGRAM "rotate"
#include "program.h"
#include "sampling.h"

static const char method[] =
    "rotate: bandwidth of pairs of nodes that stream at once, over rounds of changing partners.\n"
    "One rank is one node: run one process per node, on two nodes or more:\n"
    "  mpirun -np 64 rotate\n"
    "\n"
    "Patterns for N nodes:\n"
    "  rotate     H = N/2 pairs; in round k = 0 .. H-1 node i streams to node H + (i + k) mod H\n"
    "             (Naegle's cross-section test)\n"
    "  shift      in round k = 0 .. N-2 every node streams to the (k+1)-th after it and receives\n"
    "             from the (k+1)-th before it at the same time (as LLNL's mpiGraph)\n"
    "  bisection  N/2 rounds, or --shifts, of random matchings that --seed determines (as\n"
    "             netgauge's effective bisection bandwidth)\n"
    "With an odd N the last node is left out, except in shift. --shifts S measures S rounds of\n"
    "rotate or shift, evenly spread from the first to the last.\n"
    "\n"
    "A test of a round: receivers post all receives, a barrier, then every sender starts its\n"
    "messages one after the other from one buffer. A receiver that has them all sends an empty\n"
    "acknowledgement at once, and the sender's clock stops when it is there. The bandwidth is\n"
    "that of the best test: messages * size / time, in 10^6 bytes/s. An untimed message before\n"
    "the tests of a round opens the connection, unless --no-warm-up says that there is none to\n"
    "open, as in a simulator; after them one byte per page is compared.\n"
    "\n"
    "--confirm measures what looks slow again, since one low value among N^2/4 proves nothing:\n"
    "pairs below (1 - suspect-share) of what the medians of all pairs, of their sender and of\n"
    "their receiver lead to expect, and pairs of nodes whose own median is that low. Phase\n"
    "`together`: packed into rounds with the pairs that were their neighbours; then, of those\n"
    "still slow, each `alone`, after inconspicuous pairs each alone (`control`). In these phases\n"
    "the rounds count the measurements.\n"
    "\n"
    "A rank needs memory for two messages and for some numbers per node. The last lines tell the\n"
    "time of all transfers (the slowest pair of each test) and the time that passed.\n";

static const char method_line[] =
    "after a barrier all pairs of a round stream messages MPI_Isend of size bytes at once; MBps is "
    "messages * size / (time to the acknowledgement of all), best of tests; phase scan is the "
    "pattern, the other phases measure suspects again";

static const char columns[] = "round sender receiver MBps phase";

enum pattern { pattern_rotate, pattern_shift, pattern_bisection };

static const char *const pattern_names[] = {"rotate", "shift", "bisection", NULL};

struct plan {
    size_t size;
    size_t messages;
    size_t tests;
    size_t pattern; /* enum pattern */
    size_t shifts;  /* rounds to measure, 0: all */
    size_t seed;
    bool no_warm_up;
    bool confirm;
    double suspect_share;
    size_t confirm_repeats;
    size_t confirm_limit; /* pairs measured alone, 0: as many as a round has */
    const char *raw_name; /* NULL: no file of tests */
};

/* Which rounds there are. The same on all ranks. */
struct layout {
    enum pattern pattern;
    int nodes;
    int active;  /* nodes that take part: all, or all but the last */
    int pairs;   /* in a round */
    int total;   /* rounds of the whole pattern */
    int rounds;  /* measured ones */
    size_t seed;
};

/* Who streams to whom in one round: partner by rank, -1 for none. */
struct roster {
    int nodes;
    int *to;
    int *from;
};

/* One pair of a node in the scan. */
struct meeting {
    int round;
    int partner;
    double MBps;
};

/* What a node measured as one end of its pairs, over the rounds of the scan. */
struct line {
    size_t count;
    struct meeting *at;
};

/* Owned by rank 0. */
struct ledger {
    double *times;   /* of the last round: rank by rank, `tests` values, 0 where it did not send */
    double *best;    /* of the last round, MBps by sender */
    double *medians; /* of the rounds of the scan */
    double *scratch; /* to sort as many values as there are nodes, rounds or repeats */
    double transfers; /* seconds, sum of the slowest pair of every test */
    double last_progress; /* MPI_Wtime */
    size_t rows;
    FILE *raw;
};

/* One rank. */
struct node {
    const struct fc_world *world;
    const struct plan *plan;
    struct layout layout;
    struct roster roster; /* of the round that is measured */
    int *order;           /* permutation of the nodes for a random matching */
    unsigned char *send;
    unsigned char *receive;
    MPI_Request *requests; /* receives, sends, acknowledgement in, acknowledgement out */
    int *done;             /* as many, for MPI_Waitsome */
    double *times;         /* of the tests of this rank as sender, seconds */
    struct line row;       /* as sender */
    struct line column;    /* as receiver */
    struct ledger ledger;
    char problem[300]; /* what went wrong on this rank, empty if nothing did */
};

/* In place of a time: the rank has a problem. */
static const double has_problem = -1.0;

enum { tag_warm = 1, tag_data = 2, tag_acknowledge = 3, tag_best = 4 };

/* ---------------------------------------------------------------- patterns */

static void clear_roster(struct roster *roster)
{
    for (int rank = 0; rank < roster->nodes; rank++) {
        roster->to[rank] = -1;
        roster->from[rank] = -1;
    }
}

static void add_pair(struct roster *roster, int sender, int receiver)
{
    roster->to[sender] = receiver;
    roster->from[receiver] = sender;
}

/* Only in `shift` may a node send and receive in the same round. */
static bool is_free(const struct roster *roster, enum pattern pattern, int sender, int receiver)
{
    if (roster->to[sender] >= 0 || roster->from[receiver] >= 0) {
        return false;
    }
    return pattern == pattern_shift || (roster->from[sender] < 0 && roster->to[receiver] < 0);
}

/* Steele, Lea, Flood, Fast splittable pseudorandom number generators (OOPSLA 2014). */
static uint64_t split_mix(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/*
 * Fisher-Yates shuffle from seed and round alone, so that all ranks find the
 * same. The seed is mixed before the round is added: neighbouring seeds must not
 * have rounds in common.
 */
static void shuffle(int *order, int count, size_t seed, int round)
{
    uint64_t state = (uint64_t)seed;
    state = split_mix(&state) + (uint64_t)round;
    for (int i = 0; i < count; i++) {
        order[i] = i;
    }
    for (int i = count - 1; i > 0; i--) {
        const int j = (int)(((split_mix(&state) >> 32) * (uint64_t)(i + 1)) >> 32);
        const int kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

static int wrapped(int at, int shift, int count)
{
    return (int)(((long long)at + shift) % count);
}

/* Fills in one round of the pattern; `order` is scratch. */
static void set_round(const struct layout *layout, int round, int *order, struct roster *roster)
{
    const int pairs = layout->pairs;
    clear_roster(roster);
    if (layout->pattern == pattern_bisection) {
        shuffle(order, layout->active, layout->seed, round);
    }
    for (int i = 0; i < pairs; i++) {
        switch (layout->pattern) {
        case pattern_shift: add_pair(roster, i, wrapped(i, round + 1, layout->nodes)); break;
        case pattern_bisection: add_pair(roster, order[2 * i], order[2 * i + 1]); break;
        case pattern_rotate:
        default: add_pair(roster, i, pairs + wrapped(i, round, pairs)); break;
        }
    }
}

/* The number in the full pattern of the measured round `index`: from the first to the last. */
static int round_number(const struct layout *layout, int index)
{
    if (layout->rounds == layout->total) {
        return index;
    }
    const size_t gaps = layout->rounds > 1 ? (size_t)layout->rounds - 1 : 1;
    return (int)((size_t)index * ((size_t)layout->total - 1) / gaps);
}

static struct layout make_layout(int nodes, const struct plan *plan)
{
    const enum pattern pattern = (enum pattern)plan->pattern;
    struct layout layout = {pattern, nodes, nodes, nodes, nodes - 1, 0, plan->seed};
    const int shifts = (int)plan->shifts;
    if (layout.pattern != pattern_shift) {
        layout.active = nodes / 2 * 2;
        layout.pairs = nodes / 2;
        layout.total = nodes / 2;
    }
    if (layout.pattern == pattern_bisection && shifts > 0) {
        layout.total = shifts;
    }
    layout.rounds = shifts > 0 && shifts < layout.total ? shifts : layout.total;
    return layout;
}

/* ------------------------------------------------------- one test of a round */

static void post_receives(const struct node *node, int to, int from)
{
    const int messages = (int)node->plan->messages;
    const MPI_Comm comm = node->world->comm;
    for (int i = 0; i < 2 * messages + 2; i++) {
        node->requests[i] = MPI_REQUEST_NULL;
    }
    for (int i = 0; from >= 0 && i < messages; i++) {
        FC_MPI(MPI_Irecv(node->receive, (int)node->plan->size, MPI_BYTE, from, tag_data, comm,
                         &node->requests[i]));
    }
    if (to >= 0) {
        FC_MPI(MPI_Irecv(NULL, 0, MPI_BYTE, to, tag_acknowledge, comm,
                         &node->requests[2 * messages]));
    }
}

static void start_sends(const struct node *node, int to)
{
    const int messages = (int)node->plan->messages;
    for (int i = messages; to >= 0 && i < 2 * messages; i++) {
        FC_MPI(MPI_Isend(node->send, (int)node->plan->size, MPI_BYTE, to, tag_data,
                         node->world->comm, &node->requests[i]));
    }
}

/*
 * Completes whatever comes first, because in `shift` a rank is sender and
 * receiver at once and neither may wait for the other: the acknowledgement
 * leaves with the last message received, the clock is read with the
 * acknowledgement received. Returns the time of the latter.
 */
static double complete_all(const struct node *node, int from)
{
    const int messages = (int)node->plan->messages;
    int missing = messages;
    double end = 0.0;
    for (;;) {
        int count = 0;
        FC_MPI(MPI_Waitsome(2 * messages + 2, node->requests, &count, node->done,
                            MPI_STATUSES_IGNORE));
        if (count == MPI_UNDEFINED) {
            return end;
        }
        for (int i = 0; i < count; i++) {
            if (node->done[i] < messages && --missing == 0) {
                FC_MPI(MPI_Isend(NULL, 0, MPI_BYTE, from, tag_acknowledge, node->world->comm,
                                 &node->requests[2 * messages + 1]));
            } else if (node->done[i] == 2 * messages) {
                end = MPI_Wtime();
            }
        }
    }
}

/* One test; returns the seconds it took this rank as a sender, 0 if it is none. */
static double stream(const struct node *node, int to, int from)
{
    post_receives(node, to, from);
    FC_MPI(MPI_Barrier(node->world->comm));
    const double begin = MPI_Wtime();
    start_sends(node, to);
    const double end = complete_all(node, from);
    return to >= 0 ? end - begin : 0.0;
}

/* -------------------------------------------------------------------- data */

enum { check_step = 4096 }; /* one byte per page is looked at, and the last */

static size_t next_place(size_t at, size_t size)
{
    return at + check_step < size || at + 1 >= size ? at + check_step : size - 1;
}

static void spoil_places(const struct node *node, int from)
{
    const size_t size = node->plan->size;
    for (size_t at = 0; from >= 0 && at < size; at = next_place(at, size)) {
        node->receive[at] = (unsigned char)~fc_pattern(at, size, from);
    }
}

/* Comparing all bytes would take as long as the transfers themselves. */
static size_t first_wrong_place(const struct node *node, int from)
{
    const size_t size = node->plan->size;
    for (size_t at = 0; from >= 0 && at < size; at = next_place(at, size)) {
        if (node->receive[at] != fc_pattern(at, size, from)) {
            return at;
        }
    }
    return size;
}

/* --------------------------------------------------------------- statistics */

/* Median of the values, which stay as they are; `scratch` holds as many. */
static double median_of(const double *values, size_t count, double *scratch)
{
    memcpy(scratch, values, count * sizeof *scratch);
    qsort(scratch, count, sizeof *scratch, fc_compare_doubles);
    return fc_median(scratch, count);
}

/* Position in `count` of the item `index` of `wanted` evenly spread ones; wanted <= count. */
static size_t spread(size_t index, size_t wanted, size_t count)
{
    return (2 * index + 1) * count / (2 * wanted);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---------------------------------------------------------------- one round */

static int partner_or_null(int partner)
{
    return partner < 0 ? MPI_PROC_NULL : partner;
}

static int rank_of(const struct node *node)
{
    return node->world->rank;
}

/* The first message between two ranks may have to open a connection: not in the timing. */
static void warm_up(const struct node *node, int to, int from)
{
    if (node->plan->no_warm_up) {
        return;
    }
    const int bytes = (int)least(node->plan->size, 65536);
    FC_MPI(MPI_Sendrecv(node->send, bytes, MPI_BYTE, partner_or_null(to), tag_warm, node->receive,
                        bytes, MPI_BYTE, partner_or_null(from), tag_warm, node->world->comm,
                        MPI_STATUS_IGNORE));
}

/* Bandwidth of the best test of `times`. */
static double best_MBps(const struct plan *plan, const double *times)
{
    double shortest = times[0];
    for (size_t test = 1; test < plan->tests; test++) {
        shortest = times[test] < shortest ? times[test] : shortest;
    }
    if (!(shortest > 0.0)) {
        fc_abort("%zu messages of %zu bytes took no time that MPI_Wtime can tell; raise --size or "
                 "--messages", plan->messages, plan->size);
    }
    return (double)plan->messages * (double)plan->size / shortest / 1e6;
}

/* Rank 0: what the tests of a round took, for `transfers` and for --raw. */
static void book_times(struct node *node, const char *phase, int round)
{
    struct ledger *const ledger = &node->ledger;
    const size_t tests = node->plan->tests;
    for (size_t test = 0; test < tests; test++) {
        double slowest = 0.0;
        for (int sender = 0; sender < node->roster.nodes; sender++) {
            const double seconds = ledger->times[(size_t)sender * tests + test];
            slowest = seconds > slowest ? seconds : slowest;
            if (ledger->raw != NULL && node->roster.to[sender] >= 0) {
                fprintf(ledger->raw, "%s %d %zu %d %d %.6g\n", phase, round, test, sender,
                        node->roster.to[sender], 1e6 * seconds);
            }
        }
        ledger->transfers += slowest;
    }
}

/* Rank 0: the rows of a round. */
static void print_round(struct node *node, const char *phase, int round)
{
    struct ledger *const ledger = &node->ledger;
    for (int sender = 0; sender < node->roster.nodes; sender++) {
        const int receiver = node->roster.to[sender];
        if (receiver >= 0) {
            ledger->best[sender] =
                best_MBps(node->plan, ledger->times + (size_t)sender * node->plan->tests);
            printf("%d %d %d %.6g %s\n", round, sender, receiver, ledger->best[sender], phase);
            ledger->rows++;
        }
    }
}

/* What arrived in a round has to be what was sent. */
static void check_data(struct node *node, int from)
{
    const size_t wrong = first_wrong_place(node, from);
    if (wrong != node->plan->size) {
        snprintf(node->problem, sizeof node->problem,
                 "wrong data: byte %zu of a message of %zu bytes from rank %d to rank %d; "
                 "the MPI library or the network corrupts messages",
                 wrong, node->plan->size, from, rank_of(node));
    }
}

/* Rank 0: the rows have to be written. */
static void check_files(struct node *node)
{
    if (fc_flush_failed(stdout)) {
        snprintf(node->problem, sizeof node->problem,
                 "cannot write to standard output: %.100s; free space or redirect it",
                 strerror(errno));
    } else if (fc_flush_failed(node->ledger.raw)) {
        snprintf(node->problem, sizeof node->problem,
                 "cannot write to the file of --raw: %.100s; free space", strerror(errno));
    }
}

/* Rank 0: the lowest rank that has a problem, or the number of ranks. */
static int first_with_problem(const struct node *node)
{
    int rank = 0;
    while (rank < node->world->size &&
           node->ledger.times[(size_t)rank * node->plan->tests] != has_problem) {
        rank++;
    }
    return rank;
}

/*
 * Collective: rank 0 gets the times of a round and prints them; what went wrong on
 * any rank, with data or files, ends the program. Nobody goes on to the next round
 * before all have ended this one. That a rank has a problem comes with its times:
 * on a large machine, and on a simulated one, a reduction of its own takes longer.
 */
static void collect(struct node *node, const char *phase, int round)
{
    const struct fc_world *const world = node->world;
    const int tests = (int)node->plan->tests;
    int failed = world->size;
    if (node->problem[0] != '\0') {
        node->times[0] = has_problem;
    }
    FC_MPI(MPI_Gather(node->times, tests, MPI_DOUBLE, node->ledger.times, tests, MPI_DOUBLE, 0,
                      world->comm));
    if (world->rank == 0) {
        failed = first_with_problem(node);
        if (failed == world->size) {
            book_times(node, phase, round);
            print_round(node, phase, round);
            check_files(node);
            failed = node->problem[0] != '\0' ? 0 : failed;
        }
    }
    FC_MPI(MPI_Bcast(&failed, 1, MPI_INT, 0, world->comm));
    if (failed < world->size) {
        fc_end_if_any(world, failed == world->rank, "%s", node->problem);
    }
}

/* Collective: measures the pairs of the roster at once and prints their rows. */
static void measure_round(struct node *node, const char *phase, int round)
{
    const int to = node->roster.to[rank_of(node)];
    const int from = node->roster.from[rank_of(node)];
    const int tests = (int)node->plan->tests;
    warm_up(node, to, from);
    spoil_places(node, from);
    for (int test = 0; test < tests; test++) {
        node->times[test] = stream(node, to, from);
    }
    check_data(node, from);
    collect(node, phase, round);
}

/* Rank 0, after each round: nothing before 5 s, then at most one line in 5 s. */
static void tell_progress(struct node *node, const char *what, int done, int total, double begin)
{
    struct ledger *const ledger = &node->ledger;
    const double now = MPI_Wtime();
    if (node->world->rank != 0 || done >= total || now - ledger->last_progress < 5.0) {
        return;
    }
    ledger->last_progress = now;
    fprintf(stderr, "%s: %s %d of %d, about %.0f s left\n", FC_PROGRAM, what, done, total,
            (now - begin) / done * (total - done));
    fflush(stderr);
}

/* ----------------------------------------------------------------- the scan */

static void note(struct line *line, int round, int partner, double MBps)
{
    line->at[line->count++] = (struct meeting){round, partner, MBps};
}

/*
 * Every rank keeps its own row of the matrix, as sender, and its own column, as
 * receiver, which its senders tell it; nobody keeps the whole.
 */
static void keep_round(struct node *node, int round)
{
    const int to = node->roster.to[rank_of(node)];
    const int from = node->roster.from[rank_of(node)];
    double mine = to >= 0 ? best_MBps(node->plan, node->times) : 0.0;
    double theirs = 0.0;
    FC_MPI(MPI_Sendrecv(&mine, 1, MPI_DOUBLE, partner_or_null(to), tag_best, &theirs, 1,
                        MPI_DOUBLE, partner_or_null(from), tag_best, node->world->comm,
                        MPI_STATUS_IGNORE));
    if (to >= 0) {
        note(&node->row, round, to, mine);
    }
    if (from >= 0) {
        note(&node->column, round, from, theirs);
    }
}

/* Rank 0: the median of the round that was just measured. */
static double round_median(struct node *node)
{
    struct ledger *const ledger = &node->ledger;
    size_t count = 0;
    for (int sender = 0; sender < node->roster.nodes; sender++) {
        if (node->roster.to[sender] >= 0) {
            ledger->best[count++] = ledger->best[sender];
        }
    }
    return median_of(ledger->best, count, ledger->scratch);
}

/*
 * The scan, a row of the matrix of pairs after the other along its diagonals:
 *
 *   for each measured round of the pattern
 *       everybody works out who streams to whom
 *       an untimed message opens each pair's connection
 *       `tests` times: receives are posted, a barrier, all pairs stream at once
 *       the senders' times go to rank 0, which prints a row for each pair
 *       a byte per page of what arrived is compared
 *       with --confirm sender and receiver keep their value of the pair, and
 *       rank 0 the median of the round
 */
static void scan(struct node *node)
{
    const struct layout *const layout = &node->layout;
    const double begin = MPI_Wtime();
    for (int index = 0; index < layout->rounds; index++) {
        const int round = round_number(layout, index);
        set_round(layout, round, node->order, &node->roster);
        measure_round(node, "scan", round);
        if (node->plan->confirm) {
            keep_round(node, round);
        }
        if (node->plan->confirm && node->world->rank == 0) {
            node->ledger.medians[index] = round_median(node);
        }
        tell_progress(node, "round", index + 1, layout->rounds, begin);
    }
}

/* ------------------------------------------------------------ who is suspect */

struct suspect {
    int round;
    int sender;
    int receiver;
    double share;  /* bandwidth in the scan over what was to be expected */
    double median; /* in the phase `together`, MBps */
    int place;     /* its round there */
};

/* What all ranks know after the scan, and on rank 0 the suspects. */
struct verdict {
    double overall;  /* median bandwidth of the scan, MBps */
    double *medians; /* by rank: as sender, as receiver; negative if it was none */
    int senders;     /* suspect ones */
    int receivers;
    struct suspect *suspects; /* rank 0 */
    size_t count;
    size_t alone; /* how many of them are measured alone */
};

enum {
    offers_lowest = 16, /* of a sender's own pairs */
    offers_spread = 8,  /* of the pairs of a suspect node */
    offers_all = offers_lowest + 2 * offers_spread,
    offer_fields = 4 /* round, sender, receiver, share: as doubles, in one gather */
};

static bool is_slow(const struct node *node, const struct verdict *verdict, double MBps)
{
    return MBps >= 0.0 && MBps < (1.0 - node->plan->suspect_share) * verdict->overall;
}

static bool is_slow_sender(const struct node *node, const struct verdict *verdict, int rank)
{
    return is_slow(node, verdict, verdict->medians[2 * rank]);
}

static bool is_slow_receiver(const struct node *node, const struct verdict *verdict, int rank)
{
    return is_slow(node, verdict, verdict->medians[2 * rank + 1]);
}

/* What a pair should reach, given what is known of its two nodes. */
static double expected(const struct node *node, const struct verdict *verdict, int sender,
                       int receiver)
{
    double worst = verdict->overall;
    if (is_slow_sender(node, verdict, sender)) {
        worst = verdict->medians[2 * sender];
    }
    if (is_slow_receiver(node, verdict, receiver) && verdict->medians[2 * receiver + 1] < worst) {
        worst = verdict->medians[2 * receiver + 1];
    }
    return worst;
}

/* The median of a node as sender or receiver, negative if it never was one. */
static double line_median(const struct line *line, double *scratch)
{
    for (size_t i = 0; i < line->count; i++) {
        scratch[i] = line->at[i].MBps;
    }
    qsort(scratch, line->count, sizeof *scratch, fc_compare_doubles);
    return line->count > 0 ? fc_median(scratch, line->count) : -1.0;
}

/* Collective: the medians of all, of each node as sender and of each as receiver. */
static void share_medians(struct node *node, struct verdict *verdict, double *scratch)
{
    const struct fc_world *const world = node->world;
    const double mine[2] = {line_median(&node->row, scratch), line_median(&node->column, scratch)};
    if (world->rank == 0) {
        verdict->overall = median_of(node->ledger.medians, (size_t)node->layout.rounds, scratch);
    }
    /* Not MPI_Allgather: its N^2 messages take a simulator longer than the whole scan. */
    FC_MPI(MPI_Gather(mine, 2, MPI_DOUBLE, verdict->medians, 2, MPI_DOUBLE, 0, world->comm));
    FC_MPI(MPI_Bcast(verdict->medians, 2 * world->size, MPI_DOUBLE, 0, world->comm));
    FC_MPI(MPI_Bcast(&verdict->overall, 1, MPI_DOUBLE, 0, world->comm));
    for (int rank = 0; rank < world->size; rank++) {
        verdict->senders += is_slow_sender(node, verdict, rank) ? 1 : 0;
        verdict->receivers += is_slow_receiver(node, verdict, rank) ? 1 : 0;
    }
}

/* One pair of the node's row or column, with what it reached of what was to be expected. */
static void make_offer(const struct node *node, const struct verdict *verdict, bool sends,
                       const struct meeting *at, double offer[offer_fields])
{
    const int sender = sends ? rank_of(node) : at->partner;
    const int receiver = sends ? at->partner : rank_of(node);
    offer[0] = at->round;
    offer[1] = sender;
    offer[2] = receiver;
    offer[3] = at->MBps / expected(node, verdict, sender, receiver);
}

/* The lowest suspects of this sender, lowest first. Returns how many there are. */
static size_t offer_lowest(const struct node *node, const struct verdict *verdict,
                           double offers[][offer_fields])
{
    size_t count = 0;
    for (size_t i = 0; i < node->row.count; i++) {
        double offer[offer_fields];
        make_offer(node, verdict, true, &node->row.at[i], offer);
        if (offer[3] >= 1.0 - node->plan->suspect_share ||
            (count == offers_lowest && offer[3] >= offers[count - 1][3])) {
            continue;
        }
        size_t at = count < offers_lowest ? count++ : count - 1;
        for (; at > 0 && offers[at - 1][3] > offer[3]; at--) {
            memcpy(offers[at], offers[at - 1], sizeof offer);
        }
        memcpy(offers[at], offer, sizeof offer);
    }
    return count;
}

/* Some pairs of a suspect node, evenly spread over its rounds. Returns how many. */
static size_t offer_spread(const struct node *node, const struct verdict *verdict, bool sends,
                           double offers[][offer_fields])
{
    const struct line *const line = sends ? &node->row : &node->column;
    const size_t wanted = least(offers_spread, line->count);
    for (size_t i = 0; i < wanted; i++) {
        make_offer(node, verdict, sends, &line->at[spread(i, wanted, line->count)], offers[i]);
    }
    return wanted;
}

/* By pair; of several measurements of one the lowest first. */
static int compare_pairs(const void *left, const void *right)
{
    const struct suspect *const a = left;
    const struct suspect *const b = right;
    if (a->sender != b->sender) {
        return a->sender < b->sender ? -1 : 1;
    }
    if (a->receiver != b->receiver) {
        return a->receiver < b->receiver ? -1 : 1;
    }
    return (a->share > b->share) - (a->share < b->share);
}

static int compare_rounds(const void *left, const void *right)
{
    const struct suspect *const a = left;
    const struct suspect *const b = right;
    if (a->round != b->round) {
        return a->round < b->round ? -1 : 1;
    }
    return (a->sender > b->sender) - (a->sender < b->sender);
}

static int compare_medians(const void *left, const void *right)
{
    const double a = ((const struct suspect *)left)->median;
    const double b = ((const struct suspect *)right)->median;
    return a < b || a > b ? (a > b) - (a < b) : compare_pairs(left, right);
}

/* Rank 0: makes the list of suspects, each pair once, from the offers of all ranks. */
static void list_suspects(struct verdict *verdict, double offers[][offer_fields], size_t count)
{
    struct suspect *const list = verdict->suspects;
    size_t all = 0;
    for (size_t i = 0; i < count; i++) {
        if (offers[i][3] >= 0.0) {
            list[all++] = (struct suspect){(int)offers[i][0], (int)offers[i][1],
                                           (int)offers[i][2], offers[i][3], 0.0, -1};
        }
    }
    qsort(list, all, sizeof *list, compare_pairs);
    for (size_t i = 0; i < all; i++) {
        if (i == 0 || list[i].sender != list[verdict->count - 1].sender ||
            list[i].receiver != list[verdict->count - 1].receiver) {
            list[verdict->count++] = list[i];
        }
    }
}

/* Collective: gathers the suspects at rank 0, a bounded number from each rank. */
static void gather_suspects(const struct node *node, struct verdict *verdict)
{
    enum { fields = offers_all * offer_fields };
    const struct fc_world *const world = node->world;
    const size_t all = world->rank == 0 ? (size_t)world->size * offers_all : 0;
    double mine[offers_all][offer_fields];
    size_t count = offer_lowest(node, verdict, mine);
    if (is_slow_sender(node, verdict, world->rank)) {
        count += offer_spread(node, verdict, true, mine + count);
    }
    if (is_slow_receiver(node, verdict, world->rank)) {
        count += offer_spread(node, verdict, false, mine + count);
    }
    for (; count < offers_all; count++) {
        memcpy(mine[count], (const double[offer_fields]){0.0, 0.0, 0.0, -1.0}, sizeof mine[count]);
    }
    double(*const offers)[offer_fields] = fc_allocate_all(world, all, sizeof *offers);
    verdict->suspects = fc_allocate_all(world, all, sizeof *verdict->suspects);
    FC_MPI(MPI_Gather(mine, fields, MPI_DOUBLE, offers, fields, MPI_DOUBLE, 0, world->comm));
    if (world->rank == 0) {
        list_suspects(verdict, offers, all);
    }
    free(offers);
}

/* -------------------------------------------------------------- controls */

enum { controls_wanted = 8 };

static bool is_suspect_node(const struct node *node, const struct verdict *verdict, int rank)
{
    return is_slow_sender(node, verdict, rank) || is_slow_receiver(node, verdict, rank);
}

/* True for a pair that is in the list; a list by pair, of pairs that occur once. */
static bool is_listed(const struct verdict *verdict, int sender, int receiver)
{
    size_t low = 0;
    size_t high = verdict->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct suspect *const at = &verdict->suspects[middle];
        if (at->sender == sender && at->receiver == receiver) {
            return true;
        }
        if (at->sender < sender || (at->sender == sender && at->receiver < receiver)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return false;
}

/*
 * Rank 0: goes over all measured pairs that nothing is said against and stores
 * every one whose turn it is by `total`; returns how many there are. There is no
 * room to store them all, so they are counted first, with a total of 0.
 */
static size_t visit_controls(struct node *node, const struct verdict *verdict, size_t total,
                             struct suspect *controls)
{
    const size_t wanted = least(controls_wanted, total);
    size_t seen = 0;
    size_t stored = 0;
    for (int index = 0; index < node->layout.rounds; index++) {
        const int round = round_number(&node->layout, index);
        set_round(&node->layout, round, node->order, &node->roster);
        for (int sender = 0; sender < node->roster.nodes; sender++) {
            const int receiver = node->roster.to[sender];
            if (receiver < 0 || is_suspect_node(node, verdict, sender) ||
                is_suspect_node(node, verdict, receiver) ||
                is_listed(verdict, sender, receiver)) {
                continue;
            }
            if (stored < wanted && seen == spread(stored, wanted, total)) {
                controls[stored++] = (struct suspect){round, sender, receiver, 1.0, 0.0, -1};
            }
            seen++;
        }
    }
    return seen;
}

/* ------------------------------------------------------ measuring them again */

/*
 * Rank 0: gives every suspect a round of the phase `together`, the first in which
 * both its nodes are free. Returns the number of rounds.
 */
static int pack_suspects(struct node *node, struct verdict *verdict)
{
    size_t placed = 0;
    int rounds = 0;
    while (placed < verdict->count) {
        clear_roster(&node->roster);
        for (size_t i = 0; i < verdict->count; i++) {
            struct suspect *const at = &verdict->suspects[i];
            if (at->place < 0 &&
                is_free(&node->roster, node->layout.pattern, at->sender, at->receiver)) {
                add_pair(&node->roster, at->sender, at->receiver);
                at->place = rounds;
                placed++;
            }
        }
        rounds++;
    }
    return rounds;
}

/* Adds the pair of the next sender of a round, upwards or downwards, if it is free. */
static void add_neighbour(struct node *node, const struct roster *round, int sender, int step)
{
    int next = sender + step;
    while (next >= 0 && next < round->nodes && round->to[next] < 0) {
        next += step;
    }
    if (next >= 0 && next < round->nodes &&
        is_free(&node->roster, node->layout.pattern, next, round->to[next])) {
        add_pair(&node->roster, next, round->to[next]);
    }
}

/* Rank 0: the suspects of one round of `together`, and what streamed beside them in the scan. */
static void set_together(struct node *node, const struct verdict *verdict, int place,
                         struct roster *round)
{
    int filled = -1;
    clear_roster(&node->roster);
    for (size_t i = 0; i < verdict->count; i++) {
        const struct suspect *const at = &verdict->suspects[i];
        if (at->place == place) {
            add_pair(&node->roster, at->sender, at->receiver);
        }
    }
    for (size_t i = 0; i < verdict->count; i++) {
        const struct suspect *const at = &verdict->suspects[i];
        if (at->place != place) {
            continue;
        }
        if (at->round != filled) {
            set_round(&node->layout, at->round, node->order, round);
            filled = at->round;
        }
        add_neighbour(node, round, at->sender, -1);
        add_neighbour(node, round, at->sender, 1);
    }
}

/* Collective: rank 0's roster becomes that of all. */
static void share_roster(struct node *node)
{
    struct roster *const roster = &node->roster;
    FC_MPI(MPI_Bcast(roster->to, roster->nodes, MPI_INT, 0, node->world->comm));
    if (node->world->rank == 0) {
        return;
    }
    for (int rank = 0; rank < roster->nodes; rank++) {
        roster->from[rank] = -1;
    }
    for (int rank = 0; rank < roster->nodes; rank++) {
        if (roster->to[rank] >= 0) {
            roster->from[roster->to[rank]] = rank;
        }
    }
}

/* Rank 0: keeps the medians of the suspects of a round over its repeats. */
static void judge(struct node *node, struct verdict *verdict, int place, const double *values)
{
    const size_t repeats = node->plan->confirm_repeats;
    for (size_t i = 0; i < verdict->count; i++) {
        struct suspect *const at = &verdict->suspects[i];
        if (at->place == place) {
            at->median =
                median_of(values + (size_t)at->sender * repeats, repeats, node->ledger.scratch);
        }
    }
}

/* Collective: the repeats of the roster's pairs; rank 0 gets all values, by sender. */
static void repeat_round(struct node *node, const char *phase, int number, double *values)
{
    const int repeats = (int)node->plan->confirm_repeats;
    share_roster(node);
    for (int repeat = 0; repeat < repeats; repeat++) {
        measure_round(node, phase, number * repeats + repeat);
        for (int rank = 0; values != NULL && rank < node->roster.nodes; rank++) {
            values[(size_t)rank * (size_t)repeats + (size_t)repeat] = node->ledger.best[rank];
        }
    }
}

/* Collective. */
static void measure_together(struct node *node, struct verdict *verdict, struct roster *round)
{
    const bool leads = node->world->rank == 0;
    const double begin = MPI_Wtime();
    const size_t nodes = leads ? (size_t)node->roster.nodes : 0;
    double *const values =
        fc_allocate_all(node->world, nodes, node->plan->confirm_repeats * sizeof *values);
    int rounds = leads ? pack_suspects(node, verdict) : 0;
    FC_MPI(MPI_Bcast(&rounds, 1, MPI_INT, 0, node->world->comm));
    for (int place = 0; place < rounds; place++) {
        if (leads) {
            set_together(node, verdict, place, round);
        }
        repeat_round(node, "together", place, leads ? values : NULL);
        if (leads) {
            judge(node, verdict, place, values);
        }
        tell_progress(node, "together, round", place + 1, rounds, begin);
    }
    free(values);
}

/* Collective: measures the pairs one after the other; the list is rank 0's. */
static void measure_alone(struct node *node, const char *phase, const struct suspect *pairs,
                          size_t count)
{
    char what[32];
    const double begin = MPI_Wtime();
    int rounds = (int)count;
    snprintf(what, sizeof what, "%s, pair", phase);
    FC_MPI(MPI_Bcast(&rounds, 1, MPI_INT, 0, node->world->comm));
    for (int i = 0; i < rounds; i++) {
        if (node->world->rank == 0) {
            clear_roster(&node->roster);
            add_pair(&node->roster, pairs[i].sender, pairs[i].receiver);
        }
        repeat_round(node, phase, i, NULL);
        tell_progress(node, what, i + 1, rounds, begin);
    }
}

/* Rank 0: puts the suspects that stayed slow first, the slowest before; returns how many. */
static size_t keep_slow(const struct node *node, struct verdict *verdict)
{
    const size_t limit = node->plan->confirm_limit > 0 ? node->plan->confirm_limit
                                                       : (size_t)node->layout.pairs;
    size_t slow = 0;
    qsort(verdict->suspects, verdict->count, sizeof *verdict->suspects, compare_medians);
    while (slow < verdict->count && is_slow(node, verdict, verdict->suspects[slow].median)) {
        slow++;
    }
    return least(slow, limit);
}

/*
 * Measures what looked slow again. None of it needs more memory than O(N): a
 * node knows its own row and column of the matrix, and rank 0 gets at most
 * `offers_all` pairs of each.
 *
 *   share the median of all pairs, of each sender and of each receiver
 *   gather the pairs far below what these lead to expect, and some pairs of each
 *   node whose own median is low
 *   choose controls among the rest
 *   pack the suspects into rounds, add their neighbours of the scan, measure
 *   if any are still slow: measure each of them alone, after the controls each alone
 */
static void confirm(struct node *node, struct verdict *verdict, struct roster *round)
{
    const bool leads = node->world->rank == 0;
    struct suspect controls[controls_wanted] = {{0, 0, 0, 0.0, 0.0, -1}};
    size_t eligible = 0;
    gather_suspects(node, verdict);
    int any = verdict->count > 0;
    FC_MPI(MPI_Bcast(&any, 1, MPI_INT, 0, node->world->comm));
    if (!any) {
        return;
    }
    if (leads) {
        eligible = visit_controls(node, verdict, 0, controls);
        visit_controls(node, verdict, eligible, controls);
        qsort(verdict->suspects, verdict->count, sizeof *verdict->suspects, compare_rounds);
    }
    measure_together(node, verdict, round);
    if (leads) {
        verdict->alone = keep_slow(node, verdict);
    }
    const size_t used = verdict->alone > 0 ? least(eligible, controls_wanted) : 0;
    measure_alone(node, "control", controls, used);
    measure_alone(node, "alone", verdict->suspects, verdict->alone);
}

/* ------------------------------------------------------------ head and foot */

/* Collective: the line that names a node that is left out. */
static void print_left_out(const struct node *node)
{
    char host[MPI_MAX_PROCESSOR_NAME + 1];
    const int last = node->layout.nodes - 1;
    fc_host(host);
    FC_MPI(MPI_Bcast(host, (int)sizeof host, MPI_CHAR, last, node->world->comm));
    if (node->world->rank != 0) {
        return;
    }
    if (node->layout.active == node->layout.nodes) {
        printf("# left out: none\n");
    } else {
        printf("# left out: rank %d host %s\n", last, host);
    }
}

/* Collective, prints on rank 0. */
static void print_head(const struct node *node, const struct fc_option *options, size_t count)
{
    const struct layout *const layout = &node->layout;
    const bool leads = node->world->rank == 0;
    fc_begin_head(node->world, leads ? fc_clock_resolution() : 0.0, options, count);
    if (leads) {
        printf("# nodes: %d\n", layout->nodes);
    }
    print_left_out(node);
    if (leads) {
        printf("# pattern: %s\n# shifts: %d of %d%s\n", pattern_names[layout->pattern],
               layout->rounds, layout->total,
               layout->rounds < layout->total ? ", evenly spread" : "");
    }
    fc_end_head(node->world, method_line, columns);
}

/* Rank 0: the lines between the last row and the last line. */
static void print_foot(const struct node *node, const struct verdict *verdict, double elapsed)
{
    const double transfers = node->ledger.transfers;
    printf("# suspects: ");
    if (!node->plan->confirm) {
        printf("not measured again\n");
    } else if (verdict->count == 0) {
        printf("none\n");
    } else {
        printf("%zu pairs of %zu, %d senders, %d receivers; %zu measured alone\n", verdict->count,
               (size_t)node->layout.rounds * (size_t)node->layout.pairs, verdict->senders,
               verdict->receivers, verdict->alone);
    }
    printf("# transfers: %.6g s\n# elapsed: %.6g s\n# elapsed over transfers: %.3f\n", transfers,
           elapsed, elapsed / transfers);
}

/* -------------------------------------------------------------------- setup */

static struct roster make_roster(const struct fc_world *world, int nodes)
{
    struct roster roster = {nodes, NULL, NULL};
    roster.to = fc_allocate_all(world, (size_t)nodes, sizeof *roster.to);
    roster.from = fc_allocate_all(world, (size_t)nodes, sizeof *roster.from);
    return roster;
}

/* Collective: rank 0's ledger; the other ranks get empty arrays. */
static struct ledger make_ledger(const struct fc_world *world, const struct plan *plan,
                                 const struct layout *layout)
{
    const bool leads = world->rank == 0;
    const size_t nodes = leads ? (size_t)layout->nodes : 0;
    const size_t rounds = leads ? (size_t)layout->rounds : 0;
    struct ledger ledger = {NULL, NULL, NULL, NULL, 0.0, 0.0, 0, NULL};
    ledger.times = fc_allocate_all(world, nodes, plan->tests * sizeof *ledger.times);
    ledger.best = fc_allocate_all(world, nodes, sizeof *ledger.best);
    ledger.medians = fc_allocate_all(world, rounds, sizeof *ledger.medians);
    ledger.scratch = fc_allocate_all(world, nodes + rounds + plan->confirm_repeats,
                                     sizeof *ledger.scratch);
    for (size_t rank = 0; rank < nodes; rank++) {
        ledger.best[rank] = 0.0;
    }
    return ledger;
}

/* The buffers are written once here, so that no page is touched for the first time in a test. */
static struct node make_node(const struct fc_world *world, const struct plan *plan)
{
    const size_t slots = 2 * plan->messages + 2;
    struct node node = {.world = world, .plan = plan, .layout = make_layout(world->size, plan)};
    const size_t rounds = plan->confirm ? (size_t)node.layout.rounds : 0;
    fc_require_memory(world, 2 * plan->size + 64 * ((size_t)world->size + rounds + slots));
    node.roster = make_roster(world, world->size);
    node.order = fc_allocate_all(world, (size_t)world->size, sizeof *node.order);
    node.send = fc_allocate_all(world, plan->size, 1);
    node.receive = fc_allocate_all(world, plan->size, 1);
    node.requests = fc_allocate_all(world, slots, sizeof *node.requests);
    node.done = fc_allocate_all(world, slots, sizeof *node.done);
    node.times = fc_allocate_all(world, plan->tests, sizeof *node.times);
    node.row.at = fc_allocate_all(world, rounds, sizeof *node.row.at);
    node.column.at = fc_allocate_all(world, rounds, sizeof *node.column.at);
    node.ledger = make_ledger(world, plan, &node.layout);
    fc_fill(node.send, plan->size, world->rank);
    fc_spoil(node.receive, plan->size, world->rank);
    return node;
}

static void free_node(struct node *node)
{
    free(node->roster.to);
    free(node->roster.from);
    free(node->order);
    free(node->send);
    free(node->receive);
    free(node->requests);
    free(node->done);
    free(node->times);
    free(node->row.at);
    free(node->column.at);
    free(node->ledger.times);
    free(node->ledger.best);
    free(node->ledger.medians);
    free(node->ledger.scratch);
}

/* Collective: shares the medians, then measures the suspects again; frees what only that needs. */
static void examine(struct node *node, struct verdict *verdict)
{
    const struct fc_world *const world = node->world;
    const size_t values = (size_t)node->layout.rounds;
    struct roster round = make_roster(world, world->size);
    double *const scratch = fc_allocate_all(world, values, sizeof *scratch);
    verdict->medians = fc_allocate_all(world, 2 * (size_t)world->size, sizeof *verdict->medians);
    share_medians(node, verdict, scratch);
    confirm(node, verdict, &round);
    free(round.to);
    free(round.from);
    free(scratch);
    free(verdict->medians);
    free(verdict->suspects);
}

static void measure_all(struct node *node)
{
    struct verdict verdict = {0.0, NULL, 0, 0, NULL, 0, 0};
    const double begin = MPI_Wtime();
    node->ledger.last_progress = begin;
    scan(node);
    if (node->plan->confirm) {
        examine(node, &verdict);
    }
    if (node->world->rank == 0) {
        print_foot(node, &verdict, MPI_Wtime() - begin);
    }
}

int main(int argc, char **argv)
{
    struct plan plan = {(size_t)8 << 20, 10, 3, pattern_rotate, 0, 1, false, false, 0.06, 4, 0, NULL};
    const struct fc_option options[] = {
        {"size", FC_SIZE, &plan.size, 1, INT_MAX, "message size, bytes", NULL},
        {"messages", FC_COUNT, &plan.messages, 1, 65536, "messages in a row in a test", NULL},
        {"tests", FC_COUNT, &plan.tests, 1, 10000, "tests of a round, the best counts", NULL},
        {"pattern", FC_CHOICE, &plan.pattern, 0, 0, "who streams to whom", pattern_names},
        {"shifts", FC_COUNT, &plan.shifts, 0, 1000000,
         "rounds to measure, evenly spread over those of the pattern; 0 or more than\n"
         "        there are: all; for bisection the number of matchings, 0: half the nodes", NULL},
        {"seed", FC_COUNT, &plan.seed, 0, UINT32_MAX, "seed of the matchings of bisection", NULL},
        {"no-warm-up", FC_FLAG, &plan.no_warm_up, 0, 0,
         "no untimed message before a round: for simulators", NULL},
        {"confirm", FC_FLAG, &plan.confirm, 0, 0, "measure suspects again", NULL},
        {"suspect-share", FC_REAL, &plan.suspect_share, 1e-6, 0.99,
         "a pair is suspect when it is by this share below what is expected", NULL},
        {"confirm-repeats", FC_COUNT, &plan.confirm_repeats, 1, 1000,
         "measurements of each suspect, each the best of the tests", NULL},
        {"confirm-limit", FC_COUNT, &plan.confirm_limit, 0, 1000000,
         "most pairs to measure alone; 0: as many as there are in a round", NULL},
        {"raw", FC_TEXT, &plan.raw_name, 0, 0,
         "write every test to this file, as lines `phase round test sender receiver time_us`",
         NULL},
    };
    const size_t count = sizeof options / sizeof options[0];
    const struct fc_world world = fc_start(argc, argv, method, options, count);
    if (world.size < 2) {
        fc_usage_error(&world, "needs 2 ranks or more but was started with %d; use -np 2 or more",
                       world.size);
    }
    struct node node = make_node(&world, &plan);
    node.ledger.raw = fc_open_raw(&world, plan.raw_name);
    print_head(&node, options, count);
    measure_all(&node);
    fc_close_raw(&world, node.ledger.raw);
    const size_t rows = node.ledger.rows;
    free_node(&node);
    return fc_finish(&world, rows, "rows");
}
