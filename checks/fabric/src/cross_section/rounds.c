// SPDX-License-Identifier: BSD-3-Clause
#include "rounds.h"
#include "../common/messages.h"
#include "../common/program.h"
#include "../common/sampling.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct transfers fc_make_transfers(const struct fc_world *world, const struct plan *plan)
{
    const size_t slots = 2 * plan->messages + 2;
    struct transfers transfers = {.world = world, .size = plan->size, .messages = plan->messages};
    transfers.memory = fc_open_memory(world, plan->memory);
    transfers.send = fc_make_buffer(&transfers.memory, plan->size);
    transfers.receive = fc_make_buffer(&transfers.memory, plan->size);
    transfers.requests = fc_allocate_all(world, slots, sizeof *transfers.requests);
    transfers.done = fc_allocate_all(world, slots, sizeof *transfers.done);
    fc_fill(transfers.send.host, plan->size, world->rank);
    fc_spoil(transfers.receive.host, plan->size, world->rank);
    fc_write_buffer(&transfers.memory, &transfers.send);
    fc_write_buffer(&transfers.memory, &transfers.receive);
    return transfers;
}

void fc_free_transfers(struct transfers *transfers)
{
    fc_free_buffer(&transfers->memory, &transfers->send);
    fc_free_buffer(&transfers->memory, &transfers->receive);
    free(transfers->requests);
    free(transfers->done);
}

/* ------------------------------------------------------- one test of a round */

int fc_partner_or_null(int partner)
{
    return partner < 0 ? MPI_PROC_NULL : partner;
}

/* The first message between two ranks may have to open a connection: not in the timing. */
static void warm_up(const struct transfers *transfers, int to, int from)
{
    const int bytes = (int)(transfers->size < 65536 ? transfers->size : 65536);
    FC_MPI(MPI_Sendrecv(transfers->send.data, bytes, MPI_BYTE, fc_partner_or_null(to), tag_warm,
                        transfers->receive.data, bytes, MPI_BYTE, fc_partner_or_null(from), tag_warm,
                        transfers->world->comm, MPI_STATUS_IGNORE));
}

/* Of this rank's pairs: it sends to `to` and receives from `from`, -1 if it does not. */
static void post_receives(const struct transfers *transfers, int to, int from)
{
    const int messages = (int)transfers->messages;
    const MPI_Comm comm = transfers->world->comm;
    for (int i = 0; i < 2 * messages + 2; i++) {
        transfers->requests[i] = MPI_REQUEST_NULL;
    }
    for (int i = 0; from >= 0 && i < messages; i++) {
        FC_MPI(MPI_Irecv(transfers->receive.data, (int)transfers->size, MPI_BYTE, from, tag_data, comm,
                         &transfers->requests[i]));
    }
    if (to >= 0) {
        FC_MPI(MPI_Irecv(NULL, 0, MPI_BYTE, to, tag_acknowledge, comm, &transfers->requests[2 * messages]));
    }
}

static void start_sends(const struct transfers *transfers, int to)
{
    const int messages = (int)transfers->messages;
    for (int i = messages; to >= 0 && i < 2 * messages; i++) {
        FC_MPI(MPI_Isend(transfers->send.data, (int)transfers->size, MPI_BYTE, to, tag_data, transfers->world->comm,
                         &transfers->requests[i]));
    }
}

/*
 * Completes whatever comes first, because in `shift` a rank is sender and receiver at once and neither may wait for the
 * other: the acknowledgement leaves with the last message received, the clock is read with the acknowledgement
 * received. Returns the time of the latter.
 */
static double complete_all(const struct transfers *transfers, int from)
{
    const int messages = (int)transfers->messages;
    int missing = messages;
    double end = 0.0;
    for (;;) {
        int count = 0;
        FC_MPI(MPI_Waitsome(2 * messages + 2, transfers->requests, &count, transfers->done, MPI_STATUSES_IGNORE));
        if (count == MPI_UNDEFINED) {
            return end;
        }
        for (int i = 0; i < count; i++) {
            if (transfers->done[i] < messages && --missing == 0) {
                FC_MPI(MPI_Isend(NULL, 0, MPI_BYTE, from, tag_acknowledge, transfers->world->comm,
                                 &transfers->requests[2 * messages + 1]));
            } else if (transfers->done[i] == 2 * messages) {
                end = MPI_Wtime();
            }
        }
    }
}

/* Runs one test; returns the seconds it took this rank as a sender, 0 if it is none. */
static double stream(const struct transfers *transfers, int to, int from)
{
    post_receives(transfers, to, from);
    FC_MPI(MPI_Barrier(transfers->world->comm));
    const double begin = MPI_Wtime();
    start_sends(transfers, to);
    const double end = complete_all(transfers, from);
    return to >= 0 ? end - begin : 0.0;
}

/* -------------------------------------------------------------------- data */

enum { check_step = 4096 }; /* one byte per page is looked at, and the last */

static size_t next_place(size_t at, size_t size)
{
    return at + check_step < size || at + 1 >= size ? at + check_step : size - 1;
}

/* Makes the bytes that will be looked at differ from those that arrive. */
static void spoil_places(const struct transfers *transfers, int from)
{
    const size_t size = transfers->size;
    if (from < 0) {
        return;
    }
    for (size_t at = 0; at < size; at = next_place(at, size)) {
        transfers->receive.host[at] = (unsigned char)~fc_pattern(at, size, from);
    }
    fc_write_buffer(&transfers->memory, &transfers->receive);
}

/* Comparing all bytes would take as long as the transfers themselves. */
static size_t first_wrong_place(const struct transfers *transfers, int from)
{
    const size_t size = transfers->size;
    if (from < 0) {
        return size;
    }
    fc_read_buffer(&transfers->memory, &transfers->receive);
    for (size_t at = 0; at < size; at = next_place(at, size)) {
        if (transfers->receive.host[at] != fc_pattern(at, size, from)) {
            return at;
        }
    }
    return size;
}

/* ------------------------------------------------------------------ a round */

/* In place of a time: the rank has a problem. */
static const double has_problem = -1.0;

double fc_median_of(const double *values, size_t count, double *scratch)
{
    memcpy(scratch, values, count * sizeof *scratch);
    qsort(scratch, count, sizeof *scratch, fc_compare_doubles);
    return fc_median(scratch, count);
}

double fc_rate_MBps(const struct plan *plan, size_t size, double seconds)
{
    if (!(seconds > 0.0)) {
        fc_abort(
            "%zu messages of %zu bytes took no time that MPI_Wtime can measure; raise --size or "
            "--messages",
            plan->messages, size);
    }
    return (double)plan->messages * (double)size / seconds / 1e6;
}

double fc_best_MBps(const struct plan *plan, size_t size, const double *times, size_t stride)
{
    double shortest = times[0];
    for (size_t test = 1; test < plan->tests; test++) {
        shortest = times[test * stride] < shortest ? times[test * stride] : shortest;
    }
    return fc_rate_MBps(plan, size, shortest);
}

double fc_print_row(struct node *node, const char *phase, int round, int sender, int receiver, size_t size,
                    const double *times, size_t stride)
{
    const size_t tests = node->plan->tests;
    double *const sorted = node->ledger.scratch;
    for (size_t test = 0; test < tests; test++) {
        sorted[test] = times[test * stride];
    }
    qsort(sorted, tests, sizeof *sorted, fc_compare_doubles);
    const double best = fc_rate_MBps(node->plan, size, sorted[0]);
    fc_print(node->world, "%d %d %d %.6g %.6g %s %.6g\n", round, sender, receiver, best,
             fc_rate_MBps(node->plan, size, sorted[tests - 1]), phase,
             fc_rate_MBps(node->plan, size, fc_median(sorted, tests)));
    node->ledger.rows++;
    return best;
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
                fprintf(ledger->raw, "%s %d %zu %d %d %.6g\n", phase, round, test, sender, node->roster.to[sender],
                        1e6 * seconds);
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
            const double *const times = ledger->times + (size_t)sender * node->plan->tests;
            ledger->best[sender] = fc_print_row(node, phase, round, sender, receiver, node->plan->size, times, 1);
        }
    }
}

/* What arrived in a round has to be what was sent. */
static void check_data(struct node *node, int from)
{
    const size_t wrong = first_wrong_place(&node->transfers, from);
    if (wrong != node->plan->size) {
        snprintf(node->problem, sizeof node->problem,
                 "wrong data: byte %zu of a message of %zu bytes from rank %d to rank %d; "
                 "the MPI library or the network corrupts messages",
                 wrong, node->plan->size, from, node->world->rank);
    }
}

/* Rank 0: the rows have to be written. */
static void check_files(struct node *node)
{
    if (fc_flush_failed(stdout)) {
        snprintf(node->problem, sizeof node->problem,
                 "cannot write to standard output: %.100s; free space or redirect it", strerror(errno));
    } else if (fc_flush_failed(node->ledger.raw)) {
        snprintf(node->problem, sizeof node->problem, "cannot write to the file of --raw: %.100s; free space",
                 strerror(errno));
    }
}

/* Rank 0: the lowest rank that has a problem, or the number of ranks. */
static int first_with_problem(const struct node *node)
{
    int rank = 0;
    while (rank < node->world->size && node->ledger.times[(size_t)rank * node->plan->tests] != has_problem) {
        rank++;
    }
    return rank;
}

/*
 * Collective: rank 0 gets the times of a round and prints them; what went wrong on any rank, with data or files, ends
 * the program. Nobody goes on to the next round before all have ended this one. That a rank has a problem comes with
 * its times: on a large machine, and on a simulated one, a reduction of its own takes longer.
 */
static void collect(struct node *node, const char *phase, int round)
{
    const struct fc_world *const world = node->world;
    const int tests = (int)node->plan->tests;
    int failed = world->size;
    if (node->problem[0] != '\0') {
        node->times[0] = has_problem;
    }
    FC_MPI(MPI_Gather(node->times, tests, MPI_DOUBLE, node->ledger.times, tests, MPI_DOUBLE, 0, world->comm));
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

void fc_measure_round(struct node *node, const char *phase, int round)
{
    const int to = node->roster.to[node->world->rank];
    const int from = node->roster.from[node->world->rank];
    const int tests = (int)node->plan->tests;
    if (!node->plan->no_warm_up) {
        warm_up(&node->transfers, to, from);
    }
    spoil_places(&node->transfers, from);
    for (int test = 0; test < tests; test++) {
        node->times[test] = stream(&node->transfers, to, from);
    }
    check_data(node, from);
    collect(node, phase, round);
}

void fc_share_roster(struct node *node)
{
    struct fc_roster *const roster = &node->roster;
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

void fc_print_progress(struct node *node, const char *what, int done, int total, double begin)
{
    fc_tell_progress(node->world, what, done, total, begin, &node->ledger.last_progress);
}
