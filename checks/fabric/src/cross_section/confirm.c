// SPDX-License-Identifier: BSD-3-Clause
#include "confirm.h"
#include "../common/messages.h"
#include "../common/sampling.h"
#include "exchanges.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------- slow once more */

/* Only in `shift` may a node send and receive in the same round. */
static bool is_free(const struct fc_roster *roster, enum fc_pattern pattern, int sender, int receiver)
{
    if (roster->to[sender] >= 0 || roster->from[receiver] >= 0) {
        return false;
    }
    return pattern == FC_SHIFT || (roster->from[sender] < 0 && roster->to[receiver] < 0);
}

/*
 * Rank 0: gives every slow suspect a round of a pass of the phase `together`, the first in which both its nodes are
 * free and fewer than `per_round` suspects are, as long as there are rounds left. Goes over the suspects in steps: those
 * that follow each other are of nodes at one switch. Returns the number of rounds.
 */
static int pack_suspects(struct node *node, struct verdict *verdict, size_t most, size_t per_round, size_t step)
{
    int rounds = 0;
    size_t packed = 0;
    for (size_t i = 0; i < verdict->slow; i++) {
        verdict->suspects[i].round = no_round;
    }
    while (packed < verdict->slow && (size_t)rounds < most) {
        size_t here = 0;
        fc_clear_roster(&node->roster);
        for (size_t first = 0; first < step; first++) {
            for (size_t i = first; i < verdict->slow && here < per_round; i += step) {
                struct suspect *const at = &verdict->suspects[i];
                if (at->round == no_round && is_free(&node->roster, node->layout.pattern, at->sender, at->receiver)) {
                    fc_add_pair(&node->roster, at->sender, at->receiver);
                    at->round = rounds;
                    here++;
                }
            }
        }
        packed += here;
        rounds++;
    }
    return rounds;
}

/* Adds the pair whose ranks are those of a suspect and `step` more, if there is one and it is free. */
static void add_neighbour(struct node *node, const struct suspect *of, int step)
{
    const int sender = of->sender + step;
    const int receiver = of->receiver + step;
    const int nodes = node->roster.nodes;
    if (sender >= 0 && sender < nodes && receiver >= 0 && receiver < nodes &&
        is_free(&node->roster, node->layout.pattern, sender, receiver)) {
        fc_add_pair(&node->roster, sender, receiver);
    }
}

/* Rank 0: sets the suspects of one round of `together`, and if asked for their neighbours. */
static void set_together(struct node *node, const struct verdict *verdict, int round, bool neighbours)
{
    fc_clear_roster(&node->roster);
    for (size_t i = 0; i < verdict->slow; i++) {
        const struct suspect *const at = &verdict->suspects[i];
        if (at->round == round) {
            fc_add_pair(&node->roster, at->sender, at->receiver);
        }
    }
    for (size_t i = 0; neighbours && i < verdict->slow; i++) {
        const struct suspect *const at = &verdict->suspects[i];
        if (at->round == round) {
            add_neighbour(node, at, -1);
            add_neighbour(node, at, 1);
        }
    }
}

/* Rank 0: keeps the best that a pair reached. */
static void keep_best(struct suspect *at, double MBps)
{
    at->best = MBps > at->best ? MBps : at->best;
}

/* Rank 0: drops the suspects that were fast once, in the first pass also those without a round. */
static void keep_slow(const struct node *node, struct verdict *verdict, bool first)
{
    struct suspect *const list = verdict->suspects;
    size_t kept = 0;
    for (size_t i = 0; i < verdict->slow; i++) {
        if ((!first || list[i].round >= 0) && fc_is_slow_again(node, verdict, &list[i])) {
            list[kept++] = list[i];
        }
        verdict->again += first && list[i].round >= 0 ? 1 : 0;
    }
    verdict->slow = kept;
}

/*
 * Collective: measures the rounds of a pass of `together`, all of them so many times; they are numbered from `done` on.
 */
static void measure_pass(struct node *node, struct verdict *verdict, int rounds, int times, int done, bool first)
{
    const bool leads = node->world->rank == 0;
    const double begin = MPI_Wtime();
    for (size_t i = 0; i < verdict->slow; i++) {
        verdict->suspects[i].sum = 0.0;
    }
    for (int at = 0; at < rounds * times; at++) {
        if (leads) {
            set_together(node, verdict, at % rounds, first);
        }
        fc_share_roster(node);
        fc_measure_round(node, "together", done + at);
        for (size_t i = 0; i < verdict->slow; i++) {
            struct suspect *const suspect = &verdict->suspects[i];
            suspect->sum += suspect->round == at % rounds ? node->ledger.best[suspect->sender] : 0.0;
        }
        fc_print_progress(node, "together, round", at + 1, rounds * times, begin);
    }
    for (size_t i = 0; i < verdict->slow; i++) {
        keep_best(&verdict->suspects[i], verdict->suspects[i].sum / times);
    }
}

enum { passes_least = 4 };

/*
 * Collective: the phase `together`. All suspects are measured, then once more those that were slow every time, and so
 * on: fewer pairs, in other rounds, share with others and share less. While more are left than can be measured alone,
 * as few are in a round as there are rounds for. That is done four times, and on until few enough are left. Of more
 * repeats than four the rounds of a pass have their share: by chance every pair is fast once. A pass takes no more than
 * half of the rounds that are left. The slow ones are in front, the slowest first. Returns the number of rounds.
 */
static int measure_together(struct node *node, struct verdict *verdict, const struct budget *budget)
{
    const bool leads = node->world->rank == 0;
    const size_t times = (node->plan->confirm_repeats + passes_least - 1) / passes_least;
    size_t left = budget->together * node->plan->confirm_repeats / times;
    int done = 0;
    verdict->slow = leads ? verdict->count : 0;
    for (size_t pass = 0;; pass++) {
        const size_t most = (left + 1) / 2;
        int rounds = 0;
        if (leads && verdict->slow > 0 && most > 0 && (pass < passes_least || verdict->slow > budget->alone)) {
            const bool spread = pass > 0 && verdict->slow > budget->alone;
            const size_t per_round = spread ? (verdict->slow + most - 1) / most : SIZE_MAX;
            rounds = pack_suspects(node, verdict, most, per_round, spread ? most : 1);
        }
        FC_MPI(MPI_Bcast(&rounds, 1, MPI_INT, 0, node->world->comm));
        if (rounds == 0) {
            break;
        }
        measure_pass(node, verdict, rounds, (int)times, done, pass == 0);
        done += rounds * (int)times;
        left -= (size_t)rounds;
        if (leads) {
            keep_slow(node, verdict, pass == 0);
        }
    }
    if (leads && verdict->slow > 0) {
        qsort(verdict->suspects, verdict->slow, sizeof *verdict->suspects, fc_compare_bests);
    }
    return done;
}

enum { taken_alone = -2 }; /* instead of a round */

/* Rank 0: takes one of the slow suspects, which are in `slow`, to be measured alone. */
static void take(struct verdict *verdict, struct suspect *at)
{
    verdict->suspects[verdict->alone++] = *at;
    at->round = taken_alone;
}

/*
 * How many pairs of a suspect node are measured alone: at first only one that it sends or receives, then two, and so
 * on: a very slow node, or many of a slower kind, would fill the list and hide another. What has one such node comes
 * before what has two: which of two it was, a pair does not show. Nodes unlike all others come first: of a slower kind
 * there may be as many as there is room for. What the last quota allows comes after the pairs of other nodes. The
 * second pair of a node is its fastest one: the slowest ones may be slow for what is slow at their other end.
 */
static const struct quota {
    int of_a_node;
    int most_suspects;
    bool of_single;
    bool fastest_first;
} quotas[] = {{1, 1, true, false},  {2, 1, true, true},   {2, 2, true, false},
              {1, 1, false, false}, {2, 1, false, true},  {2, 2, false, false},
              {4, 2, false, false}, {6, 2, false, false}, {INT_MAX, 2, false, false}};
enum { quotas_all = sizeof quotas / sizeof quotas[0], quotas_first = quotas_all - 1 };

/*
 * Rank 0: chooses among the slow suspects of suspect nodes for some of the quotas, the slowest first unless one says.
 * `counts`: how many are chosen of each sender, and after all of them of each receiver.
 */
static void choose_of_nodes(struct verdict *verdict, struct suspect *slow, const int *of_nodes, size_t limit, int nodes,
                            size_t first, size_t end, int *counts)
{
    int *const received = counts + nodes;
    for (size_t pass = first; pass < end; pass++) {
        for (size_t turn = 0; turn < verdict->slow && verdict->alone < limit; turn++) {
            const size_t i = quotas[pass].fastest_first ? verdict->slow - 1 - turn : turn;
            struct suspect *const at = &slow[i];
            const int most = quotas[pass].of_a_node;
            if (quotas[pass].of_single && !verdict->single[at->sender][as_sender] &&
                !verdict->single[at->receiver][as_receiver]) {
                continue;
            }
            if (of_nodes[i] > 0 && of_nodes[i] <= quotas[pass].most_suspects && at->round != taken_alone &&
                counts[at->sender] < most && received[at->receiver] < most) {
                counts[at->sender]++;
                received[at->receiver]++;
                take(verdict, at);
            }
        }
    }
}

/* How far a slow suspect, of no suspect node, is above the one before it. */
struct gap {
    double above;
    struct suspect *at;
};

static int compare_gaps(const void *left, const void *right)
{
    const struct gap *const a = left;
    const struct gap *const b = right;
    return a->above < b->above || a->above > b->above ? (a->above < b->above) - (a->above > b->above)
                                                      : fc_compare_pairs(a->at, b->at);
}

/*
 * Rank 0: chooses what is measured alone, out of the slow suspects, the slowest first: pairs of suspect nodes, up to
 * three quarters of the limit; of the other pairs, which have places of their own as well, half that stand furthest
 * above the one before them, and the rest evenly spread; and more of suspect nodes if there is room. Pairs that share a
 * link stand together at one half and one third, a fault stands anywhere.
 */
static void choose_alone(const struct node *node, struct verdict *verdict, struct suspect *slow, int *of_nodes,
                         struct gap *gaps, const struct budget *budget, int *counts)
{
    const size_t count = verdict->slow;
    const size_t limit = budget->alone;
    size_t others = 0;
    memcpy(slow, verdict->suspects, count * sizeof *slow);
    for (size_t i = 0; i < count; i++) {
        of_nodes[i] = fc_is_slow(node, verdict, slow[i].sender, as_sender) +
                      fc_is_slow(node, verdict, slow[i].receiver, as_receiver);
        if (of_nodes[i] == 0) {
            gaps[others] = (struct gap){others > 0 ? slow[i].best - gaps[others - 1].at->best : 0.0, &slow[i]};
            others++;
        }
    }
    const size_t left = limit > others ? limit - others : 0;
    const size_t most = left > limit * 3 / 4 ? left : limit * 3 / 4;
    const int nodes = node->world->size;
    memset(counts, 0, 2 * (size_t)nodes * sizeof *counts);
    choose_of_nodes(verdict, slow, of_nodes, most, nodes, 0, quotas_first, counts);
    const size_t wanted = fc_least(limit + budget->of_others - verdict->alone, others);
    qsort(gaps, others, sizeof *gaps, compare_gaps);
    for (size_t i = 0; i < wanted / 2; i++) {
        take(verdict, gaps[i].at);
    }
    const size_t rest = wanted - wanted / 2;
    size_t seen = 0;
    size_t taken = 0;
    for (size_t i = 0; i < count && taken < rest; i++) {
        if (of_nodes[i] == 0 && slow[i].round != taken_alone && seen++ == fc_spread(taken, rest, others - wanted / 2)) {
            taken++;
            take(verdict, &slow[i]);
        }
    }
    choose_of_nodes(verdict, slow, of_nodes, limit, nodes, quotas_first, quotas_all, counts);
}

/* ----------------------------------------------------------------- controls */

enum {
    controls_of_all = 8,   /* spread over all pairs */
    controls_if_slow = 24, /* the same, where somebody may be blamed */
    controls_most = 32
};

/* What controls are chosen from, and those that are. */
struct controls {
    struct suspect at[controls_most];
    size_t count;
    size_t most;
    size_t eligible;      /* pairs that may be controls */
    struct suspect *slow; /* those that were slow twice, by pair */
    size_t slow_count;
    int *wanted; /* by rank: whether one more is wanted that it sends; after all: receives */
};

/*
 * A pair may be a control unless it was slow twice, or its node is slow in that direction. What looked slow once and
 * then no more may: without it healthy pairs would seem more alike than they are.
 */
static bool may_control(const struct node *node, const struct verdict *verdict, const struct controls *controls,
                        int sender, int receiver)
{
    const struct suspect pair = {.sender = sender, .receiver = receiver};
    return !fc_is_slow(node, verdict, sender, as_sender) && !fc_is_slow(node, verdict, receiver, as_receiver) &&
           !fc_is_within_a_host(verdict, sender, receiver) &&
           bsearch(&pair, controls->slow, controls->slow_count, sizeof pair, fc_compare_pairs) == NULL;
}

static bool is_control(const struct controls *controls, int sender, int receiver)
{
    for (size_t i = 0; i < controls->count; i++) {
        if (controls->at[i].sender == sender && controls->at[i].receiver == receiver) {
            return true;
        }
    }
    return false;
}

static void add_control(struct controls *controls, int sender, int receiver)
{
    if (controls->count < controls->most) {
        controls->at[controls->count++] = (struct suspect){0, sender, receiver, no_round, 0.0, 0.0};
    }
}

/*
 * Rank 0: goes over all measured pairs that may be controls and adds so many, evenly spread, but those that are
 * controls already; returns how many may be. There is no room to store them all, so they are counted first, with none
 * wanted.
 */
static size_t spread_controls(struct node *node, const struct verdict *verdict, size_t wanted,
                              struct controls *controls)
{
    size_t seen = 0;
    size_t taken = 0;
    for (int index = 0; index < node->layout.rounds; index++) {
        fc_set_round(&node->layout, fc_round_number(&node->layout, index), node->order, &node->roster);
        for (int sender = 0; sender < node->roster.nodes; sender++) {
            const int receiver = node->roster.to[sender];
            if (receiver < 0 || !may_control(node, verdict, controls, sender, receiver)) {
                continue;
            }
            if (taken < wanted && seen == fc_spread(taken, wanted, controls->eligible)) {
                taken++;
                if (!is_control(controls, sender, receiver)) {
                    add_control(controls, sender, receiver);
                }
            }
            seen++;
        }
    }
    return seen;
}

/* Rank 0: for a node of several pairs alone one control that it sends and one that it receives. */
static void add_controls_of_nodes(struct node *node, const struct verdict *verdict, struct controls *controls)
{
    const int nodes = node->roster.nodes;
    int *const sends = controls->wanted;
    int *const receives = controls->wanted + nodes;
    memset(sends, 0, 2 * (size_t)nodes * sizeof *sends);
    for (size_t i = 0; i < verdict->alone; i++) {
        sends[verdict->suspects[i].sender]++;
        sends[verdict->suspects[i].receiver]++;
    }
    for (int rank = 0; rank < nodes; rank++) {
        sends[rank] = receives[rank] = sends[rank] >= 2;
    }
    for (int index = 0; index < node->layout.rounds; index++) {
        fc_set_round(&node->layout, fc_round_number(&node->layout, index), node->order, &node->roster);
        for (int sender = 0; sender < nodes; sender++) {
            const int receiver = node->roster.to[sender];
            if (receiver >= 0 && (sends[sender] || receives[receiver]) &&
                may_control(node, verdict, controls, sender, receiver) && !is_control(controls, sender, receiver)) {
                sends[sender] = receives[receiver] = 0;
                add_control(controls, sender, receiver);
            }
        }
    }
}

enum {
    of_end_least = 3,    /* pairs alone of an end of a slow pair */
    controls_of_ends = 8 /* so many controls at most to reach that */
};

/* Rank 0: returns how many pairs alone and controls a rank has on a side. */
static size_t count_of_end(const struct verdict *verdict, const struct controls *controls, int rank, int side)
{
    size_t found = 0;
    for (size_t i = 0; i < verdict->alone + controls->count; i++) {
        const struct suspect *const at = i < verdict->alone ? &verdict->suspects[i] : &controls->at[i - verdict->alone];
        found += rank == (side == as_sender ? at->sender : at->receiver) ? 1 : 0;
    }
    return found;
}

/*
 * Rank 0: adds pairs of a rank on a side, if it has so many already: with the next rank on either hand, which are at
 * its switch as a rule, and with others near it until there are enough.
 */
static void add_controls_of_end(struct node *node, const struct verdict *verdict, struct controls *controls, int rank,
                                int side, size_t least, size_t most)
{
    const int rails = node->layout.rails;
    size_t count = count_of_end(verdict, controls, rank, side);
    if (count < least) {
        return;
    }
    for (int away = 1; away < node->layout.nodes && (away == 1 || count < of_end_least); away++) {
        for (int step = -away; step <= away && controls->count < most; step += 2 * away) {
            const int partner = rank + step * rails;
            const int sender = side == as_sender ? rank : partner;
            const int receiver = side == as_sender ? partner : rank;
            if (partner >= 0 && partner < node->roster.nodes && !is_control(controls, sender, receiver) &&
                may_control(node, verdict, controls, sender, receiver)) {
                add_control(controls, sender, receiver);
                count++;
            }
        }
    }
}

/*
 * Rank 0: adds pairs of the ends of those alone, first of ends that have several. What became slow late in the scan is
 * no suspect node, and has a pair or two that are slow: these do not show which end it is.
 */
static void add_controls_of_ends(struct node *node, const struct verdict *verdict, struct controls *controls)
{
    const size_t most = fc_least(controls->most, controls->count + controls_of_ends);
    for (size_t least = 2; least > 0; least--) {
        for (size_t i = 0; i < verdict->alone; i++) {
            const int ends[2] = {verdict->suspects[i].sender, verdict->suspects[i].receiver};
            for (int side = 0; side < 2; side++) {
                if (!fc_is_slow(node, verdict, ends[side], side)) {
                    add_controls_of_end(node, verdict, controls, ends[side], side, least, most);
                }
            }
        }
    }
}

/* Rank 0: chooses at most so many controls. */
static void choose_controls(struct node *node, struct verdict *verdict, size_t most, int *counts,
                            struct controls *controls)
{
    controls->wanted = counts;
    controls->most = fc_least(most, controls_most);
    controls->slow_count = verdict->slow;
    qsort(controls->slow, verdict->slow, sizeof *controls->slow, fc_compare_pairs);
    controls->eligible = spread_controls(node, verdict, 0, controls);
    const size_t most_wanted = fc_least(controls->most, controls->eligible);
    spread_controls(node, verdict, fc_least(controls_of_all, most_wanted), controls);
    add_controls_of_nodes(node, verdict, controls);
    add_controls_of_ends(node, verdict, controls);
}

/* ------------------------------------------------------------- each alone */

/* Collective: measures one pair of rank 0's list; the others give NULL. */
static void measure_pair(struct node *node, const char *phase, int number, const struct suspect *at)
{
    if (at != NULL) {
        fc_clear_roster(&node->roster);
        fc_add_pair(&node->roster, at->sender, at->receiver);
    }
    fc_share_roster(node);
    fc_measure_round(node, phase, number);
}

/* Rank 0: whether some suspect was slow in every repeat so far, as the controls are. */
static bool is_any_slow_alone(const struct node *node, const struct controls *controls, const struct verdict *verdict)
{
    double best[controls_most];
    double scratch[controls_most];
    for (size_t i = 0; i < controls->count; i++) {
        best[i] = controls->at[i].best;
    }
    const double reference = controls->count > 0 ? fc_median_of(best, controls->count, scratch) : verdict->overall;
    for (size_t i = 0; i < verdict->alone; i++) {
        if (verdict->suspects[i].best < (1.0 - node->plan->suspect_share) * reference) {
            return true;
        }
    }
    return false;
}

/* Rank 0, before the last repeat. */
static void wait_if_slow(const struct node *node, const struct controls *controls, struct verdict *verdict)
{
    if (is_any_slow_alone(node, controls, verdict)) {
        fc_wait_for_others(node, verdict);
    }
}

/*
 * Rank 0, after the first repeat: takes more controls if somebody may be blamed. By how much healthy pairs differ, few
 * cannot tell.
 */
static void add_controls(struct node *node, const struct verdict *verdict, struct controls *controls)
{
    if (is_any_slow_alone(node, controls, verdict)) {
        const size_t most_wanted = fc_least(controls->most, controls->eligible);
        spread_controls(node, verdict, fc_least(controls_if_slow, most_wanted), controls);
    }
}

/* How much of what is measured alone is done. */
struct progress {
    double begin;
    int done;
    int total;
};

/* Collective: measures pairs of rank 0's list one after the other; the others give NULL. */
static void measure_each(struct node *node, const char *phase, int first, struct suspect *at, int count,
                         struct progress *progress)
{
    for (int i = 0; i < count; i++) {
        struct suspect *const pair = at != NULL ? &at[i] : NULL;
        measure_pair(node, phase, first + i, pair);
        if (pair != NULL) {
            keep_best(pair, node->ledger.best[pair->sender]);
        }
        fc_print_progress(node, "alone, pair", ++progress->done, progress->total, progress->begin);
    }
}

/*
 * Collective: the controls and then the suspects, one pair after the other, and all of it again for every repeat: what
 * drifts meanwhile does so for both.
 */
static void measure_alone(struct node *node, struct controls *controls, struct verdict *verdict)
{
    const bool leads = node->world->rank == 0;
    const int repeats = (int)node->plan->confirm_repeats;
    struct suspect *const control = leads ? controls->at : NULL;
    struct suspect *const alone = leads ? verdict->suspects : NULL;
    int counts[2] = {(int)controls->count, (int)verdict->alone};
    FC_MPI(MPI_Bcast(counts, 2, MPI_INT, 0, node->world->comm));
    struct progress progress = {MPI_Wtime(), 0, repeats * (counts[0] + counts[1])};
    for (size_t i = 0; leads && i < verdict->alone; i++) {
        alone[i].best = 0.0; /* from here on alone */
    }
    for (int repeat = 0; repeat < repeats; repeat++) {
        if (leads && repeat > 0 && repeat == repeats - 1) {
            wait_if_slow(node, controls, verdict);
        }
        measure_each(node, "control", repeat * counts[0], control, counts[0], &progress);
        measure_each(node, "alone", repeat * counts[1], alone, counts[1], &progress);
        if (repeat == 0 && repeats > 1) {
            const int first = counts[0];
            if (leads) {
                add_controls(node, verdict, controls);
                counts[0] = (int)controls->count;
            }
            FC_MPI(MPI_Bcast(counts, 1, MPI_INT, 0, node->world->comm));
            const int more = counts[0] - first;
            progress.total += repeats * more;
            measure_each(node, "control", first, leads ? control + first : NULL, more, &progress);
        }
    }
}

/*
 * Measures what looked slow again. None of it needs more memory than O(N): a
 * node knows its own row and column of the matrix, and rank 0 gets at most
 * `offers_all` pairs of each.
 *
 *   share the median of all pairs, and what each sender and each receiver has at its best
 *   gather the pairs far below what these lead to expect, and of each node whose
 *   best is low those with some partners
 *   pack them into rounds, add their neighbours, measure; those that are slow once more, and so on
 *   if any stay slow: choose some of them and controls among all the rest, and measure each of
 *   both alone
 */
static void confirm(struct node *node, struct verdict *verdict)
{
    const struct fc_world *const world = node->world;
    const bool leads = world->rank == 0;
    const struct budget budget = fc_find_budget((size_t)world->size, node->plan->confirm_limit);
    struct controls controls;
    memset(&controls, 0, sizeof controls);
    fc_gather_suspects(node, verdict);
    int any = verdict->count > 0;
    FC_MPI(MPI_Bcast(&any, 1, MPI_INT, 0, world->comm));
    if (!any) {
        return;
    }
    const int rounds = measure_together(node, verdict, &budget);
    int *const counts = fc_allocate_all(world, leads ? 2 * (size_t)world->size : 0, sizeof *counts);
    int *const of_nodes = fc_allocate_all(world, verdict->slow, sizeof *of_nodes);
    struct gap *const gaps = fc_allocate_all(world, verdict->slow, sizeof *gaps);
    controls.slow = fc_allocate_all(world, verdict->slow, sizeof *controls.slow);
    if (leads) {
        fc_find_single(node, verdict);
        choose_alone(node, verdict, controls.slow, of_nodes, gaps, &budget, counts);
    }
    if (verdict->alone > 0) {
        const size_t repeats = node->plan->confirm_repeats;
        const size_t used = ((size_t)rounds + repeats - 1) / repeats + verdict->alone + budget.controls;
        const size_t left = budget.all > used ? budget.all - used : 0;
        choose_controls(node, verdict, budget.controls + left, counts, &controls);
    }
    measure_alone(node, &controls, verdict);
    free(controls.slow);
    free(of_nodes);
    free(gaps);
    free(counts);
}

void fc_examine(struct node *node, struct verdict *verdict)
{
    const struct fc_world *const world = node->world;
    const size_t values = (size_t)node->layout.rounds;
    const size_t nodes = (size_t)world->size;
    double *const scratch = fc_allocate_all(world, values, sizeof *scratch);
    verdict->levels = fc_allocate_all(world, nodes, sizeof *verdict->levels);
    verdict->hosts = fc_allocate_all(world, nodes, sizeof *verdict->hosts);
    verdict->single = fc_allocate_all(world, world->rank == 0 ? nodes : 0, sizeof *verdict->single);
    fc_share_hosts(node, verdict);
    fc_share_levels(node, verdict, scratch);
    confirm(node, verdict);
    if (node->plan->both_ways) {
        fc_measure_exchanges(node, verdict);
    }
    free(scratch);
    free(verdict->levels);
    free(verdict->hosts);
    free(verdict->single);
    free(verdict->suspects);
}
