// SPDX-License-Identifier: BSD-3-Clause
#include "leaves.h"
#include "../common/messages.h"
#include "../common/program.h"
#include "../common/sampling.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------- groups */

enum { name_most = 256 };

static bool is_same_host(const char *a, const char *b)
{
    const size_t length = strcspn(a, ".");
    return length == strcspn(b, ".") && strncmp(a, b, length) == 0;
}

/* Sets the group of this host, empty without one: SLURM_TOPOLOGY_ADDR is its switches and its name, as in s0.s1.n3; of a
   ring it has the position, as in r1:5.n6. */
static void find_in_slurm(const char *host, char group[name_most])
{
    const char *const address = getenv("SLURM_TOPOLOGY_ADDR");
    const char *const last = address != NULL ? strrchr(address, '.') : NULL;
    if (last != NULL && last - address < name_most && is_same_host(last + 1, host)) {
        const char *const colon = memchr(address, ':', (size_t)(last - address));
        memcpy(group, address, (size_t)((colon != NULL ? colon : last) - address));
    }
}

/* The same by a file; returns whether it could be read. */
static bool find_in_file(const char *name, const char *host, char group[name_most])
{
    char line_host[name_most];
    char line_group[name_most];
    FILE *const file = fopen(name, "r");
    if (file == NULL) {
        return false;
    }
    int words = 0;
    while ((words = fscanf(file, "%255s %255s", line_host, line_group)) == 2) {
        if (is_same_host(line_host, host)) {
            memcpy(group, line_group, name_most);
        }
    }
    fclose(file);
    errno = EINVAL; /* if a line has one word */
    return words == EOF;
}

/* Collective: sets the group of each rank, numbered by their lowest ranks, -1 for none; returns how many there are. */
static int share_groups(const struct fc_world *world, const char mine[name_most], int *group)
{
    int count = 0;
    fc_share_names(world, mine, name_most, group);
    for (int rank = 0; rank < world->size; rank++) {
        const int first = group[rank];
        group[rank] = first < 0 ? -1 : first < rank ? group[first] : count++;
    }
    return count;
}

enum { turns_least = 3, turns_most = 8, nodes_of_turn = 8 };

/* By its place in its group, then by group: the first of each, the second of each, and so on. */
static int compare_seats(const void *left, const void *right)
{
    const struct fc_seat *const a = left;
    const struct fc_seat *const b = right;
    return a->place != b->place ? a->place - b->place : a->group - b->group;
}

struct leaves fc_find_leaves(const struct fc_world *world, const struct plan *plan)
{
    const size_t nodes = (size_t)world->size;
    char host[MPI_MAX_PROCESSOR_NAME + 1];
    char mine[name_most] = "";
    bool is_read = true;
    struct leaves leaves = {.group = fc_allocate_all(world, nodes, sizeof *leaves.group)};
    leaves.seats = fc_allocate_all(world, nodes, sizeof *leaves.seats);
    leaves.halves = fc_allocate_all(world, nodes, 2 * sizeof *leaves.halves);
    leaves.flows = fc_allocate_all(world, nodes, sizeof *leaves.flows);
    leaves.taken = fc_allocate_all(world, nodes, sizeof *leaves.taken);
    memset(leaves.taken, 0, nodes * sizeof *leaves.taken);
    if (plan->groups == NULL) {
        return leaves;
    }
    fc_host(host);
    if (strcmp(plan->groups, "slurm") == 0) {
        find_in_slurm(host, mine);
    } else {
        is_read = find_in_file(plan->groups, host, mine);
    }
    fc_end_if_any(world, !is_read, "cannot read the file of --groups '%.200s': %.100s; give lines `HOST GROUP`",
                  plan->groups, strerror(errno));
    leaves.count = share_groups(world, mine, leaves.group);
    for (int rank = 0; rank < world->size; rank++) {
        const int group = leaves.group[rank];
        if (group >= 0) {
            leaves.seats[leaves.seated++] = (struct fc_seat){leaves.taken[group]++, group, rank};
        }
    }
    qsort(leaves.seats, (size_t)leaves.seated, sizeof *leaves.seats, compare_seats);
    const int turns = world->size / nodes_of_turn;
    leaves.turns = leaves.count < 2 ? 0 : turns < turns_least ? turns_least : turns < turns_most ? turns : turns_most;
    return leaves;
}

void fc_free_leaves(struct leaves *leaves)
{
    free(leaves->group);
    free(leaves->seats);
    free(leaves->halves);
    free(leaves->flows);
    free(leaves->taken);
}

void fc_print_leaves(const struct fc_world *world, const struct leaves *leaves)
{
    fc_print(world, "# groups:");
    for (int rank = 0; leaves->count > 0 && rank < world->size; rank++) {
        fc_print(world, " %d", leaves->group[rank]);
    }
    fc_print(world, leaves->count > 0 ? "\n" : " none\n");
}

/* -------------------------------------------------------------------- flows */

/* Adds a flow to what its two ranks do. */
static void add_flow(struct leaves *leaves, int sender, int receiver)
{
    struct fc_flows *const sends = &leaves->flows[sender];
    struct fc_flows *const receives = &leaves->flows[receiver];
    sends->sends = true;
    sends->partner[sends->count++] = receiver;
    receives->partner[receives->count++] = sender;
}

/* The place of a group in the circle of a turn: in every third one the even groups stand before the odd ones. */
static int place_of_group(const struct leaves *leaves, int group, int turn)
{
    const int place = turn % 3 != 2 ? group : group / 2 + (group % 2 == 0 ? 0 : (leaves->count + 1) / 2);
    return (place + leaves->count - turn % leaves->count) % leaves->count;
}

/*
 * Sets the flows of a round. Of the groups, which stand in a circle, one half sends to the next half, and in the next
 * round these to them; then it is the turn of the groups that begin one further. With the other circle of every third
 * turn four groups are divided in all three ways. Every rank of the smaller half has as many partners as the other one
 * has ranks, flows_most at most, and nobody has more.
 */
static void set_flows(struct leaves *leaves, int nodes, int round)
{
    const int half = leaves->count / 2;
    const int turn = round / 2;
    int counts[2] = {0, 0};
    for (int rank = 0; rank < nodes; rank++) {
        leaves->flows[rank] = (struct fc_flows){.count = 0};
    }
    for (int i = 0; i < leaves->seated; i++) {
        const int side = place_of_group(leaves, leaves->seats[i].group, turn) / half;
        if (side < 2) {
            leaves->halves[side * nodes + counts[side]++] = leaves->seats[i].rank;
        }
    }
    const int active = counts[0] < counts[1] ? counts[0] : counts[1];
    leaves->width = active < flows_most ? active : flows_most;
    for (int i = 0; i < active; i++) {
        for (int k = 0; k < leaves->width; k++) {
            const int one = leaves->halves[i];
            const int other = leaves->halves[nodes + (i + k + turn * leaves->width) % active];
            add_flow(leaves, round % 2 == 0 ? one : other, round % 2 == 0 ? other : one);
        }
    }
}

/* Runs one test of a rank's flows; sets the seconds that each took this rank as sender. */
static void stream_flows(const struct node *node, const struct fc_flows *flows, size_t size, MPI_Request *requests,
                         int *done, double seconds[flows_most])
{
    const struct transfers *const transfers = &node->transfers;
    const MPI_Comm comm = node->world->comm;
    const int messages = (int)transfers->messages;
    const int all = flows->count * (messages + 1); /* the acknowledgements come last */
    MPI_Request *const acknowledged = requests + (all - flows->count);
    int missing[flows_most];
    for (int k = 0; k < flows->count; k++) {
        missing[k] = messages;
        acknowledged[k] = MPI_REQUEST_NULL;
        for (int i = 0; !flows->sends && i < messages; i++) {
            FC_MPI(MPI_Irecv(transfers->receive.data, (int)size, MPI_BYTE, flows->partner[k], tag_data, comm,
                             &requests[i * flows->count + k]));
        }
        if (flows->sends) {
            FC_MPI(MPI_Irecv(NULL, 0, MPI_BYTE, flows->partner[k], tag_acknowledge, comm, &acknowledged[k]));
        }
    }
    FC_MPI(MPI_Barrier(comm));
    const double begin = MPI_Wtime();
    for (int i = 0; flows->sends && i < all - flows->count; i++) {
        FC_MPI(MPI_Isend(transfers->send.data, (int)size, MPI_BYTE, flows->partner[i % flows->count], tag_data, comm,
                         &requests[i]));
    }
    for (int count = 0; flows->count > 0;) {
        FC_MPI(MPI_Waitsome(all, requests, &count, done, MPI_STATUSES_IGNORE));
        if (count == MPI_UNDEFINED) {
            return;
        }
        for (int i = 0; i < count; i++) {
            const int k = done[i] % flows->count;
            if (flows->sends && done[i] >= all - flows->count) {
                seconds[k] = MPI_Wtime() - begin;
            } else if (!flows->sends && done[i] < all - flows->count && --missing[k] == 0) {
                FC_MPI(MPI_Isend(NULL, 0, MPI_BYTE, flows->partner[k], tag_acknowledge, comm, &acknowledged[k]));
            }
        }
    }
}

/* Rank 0: books the tests of a round and prints its rows; `times` are rank by rank, and of a rank test by test. */
static void print_flows(struct node *node, int round, size_t size, double (*times)[flows_most])
{
    struct ledger *const ledger = &node->ledger;
    const size_t tests = node->plan->tests;
    for (size_t test = 0; test < tests; test++) {
        double slowest = 0.0;
        for (int sender = 0; sender < node->world->size; sender++) {
            const struct fc_flows *const flows = &node->leaves.flows[sender];
            for (int k = 0; flows->sends && k < flows->count; k++) {
                const double seconds = times[(size_t)sender * tests + test][k];
                slowest = seconds > slowest ? seconds : slowest;
                if (ledger->raw != NULL) {
                    fprintf(ledger->raw, "leaf %d %zu %d %d %.6g\n", round, test, sender, flows->partner[k],
                            1e6 * seconds);
                }
            }
        }
        ledger->transfers += slowest;
    }
    for (int sender = 0; sender < node->world->size; sender++) {
        const struct fc_flows *const flows = &node->leaves.flows[sender];
        for (int k = 0; flows->sends && k < flows->count; k++) {
            const double *const own = &times[(size_t)sender * tests][k];
            fc_print_row(node, "leaf", round, sender, flows->partner[k], size, own, flows_most);
        }
    }
}

void fc_measure_leaves(struct node *node)
{
    const struct fc_world *const world = node->world;
    struct leaves *const leaves = &node->leaves;
    const size_t tests = node->plan->tests;
    const size_t slots = flows_most * (node->plan->messages + 1);
    const int rounds = 2 * leaves->turns;
    const double begin = MPI_Wtime();
    MPI_Request *const requests = fc_allocate_all(world, rounds > 0 ? slots : 0, sizeof *requests);
    int *const done = fc_allocate_all(world, rounds > 0 ? slots : 0, sizeof *done);
    double (*const mine)[flows_most] = fc_allocate_all(world, tests, sizeof *mine);
    const size_t gathered = world->rank == 0 ? (size_t)world->size * tests : 0;
    double (*const all)[flows_most] = fc_allocate_all(world, gathered, sizeof *all);
    for (int round = 0; round < rounds; round++) {
        set_flows(leaves, world->size, round);
        const struct fc_flows *const flows = &leaves->flows[world->rank];
        const size_t part = node->plan->size / (size_t)(leaves->width > 1 ? leaves->width : 1);
        const size_t size = part > 0 ? part : 1;
        if (!node->plan->no_warm_up) {
            stream_flows(node, flows, size < 4096 ? size : 4096, requests, done, mine[0]);
        }
        for (size_t test = 0; test < tests; test++) {
            stream_flows(node, flows, size, requests, done, mine[test]);
        }
        const int values = (int)tests * flows_most;
        FC_MPI(MPI_Gather(mine, values, MPI_DOUBLE, all, values, MPI_DOUBLE, 0, world->comm));
        if (world->rank == 0) {
            print_flows(node, round, size, all);
        }
        fc_check_output(world);
        fc_check_raw(world, node->ledger.raw);
        fc_print_progress(node, "leaf, round", round + 1, rounds, begin);
    }
    free(requests);
    free(done);
    free(mine);
    free(all);
}
