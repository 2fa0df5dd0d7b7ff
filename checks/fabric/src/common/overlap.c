// SPDX-License-Identifier: BSD-3-Clause
#include "overlap.h"

#include <string.h>

/* -------------------------------------------------------------------- work */

/* Tests the first request that is not complete; returns false if all are. */
static bool test_first(MPI_Request *requests, int count)
{
    for (int i = 0; i < count; i++) {
        if (requests[i] != MPI_REQUEST_NULL) {
            int done = 0;
            FC_MPI(MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE));
            return true;
        }
    }
    return false;
}

/* The clock is read in each iteration so that work takes time in a simulator too. */
void fc_do_work(const struct fc_work *work, MPI_Request *requests, int count)
{
    double sum = 0.0;
    unsigned long long until_test = work->alone ? 0 : work->test_every;
    for (unsigned long long i = 0; i < work->iterations; i++) {
        sum = 0.5 * sum + MPI_Wtime();
        if (until_test != 0 && --until_test == 0) {
            until_test = test_first(requests, count) ? work->test_every : 0;
        }
    }
    volatile double kept = sum; /* the arithmetic must not be left out */
    (void)kept;
}

/* ------------------------------------------------------------------- steps */

/* What rank 0 has all ranks do next: measure a point, or a single batch of it. As an array, for MPI_Bcast. */
enum { step_kind, step_alone, step_iterations, step_test_every, step_words };
enum { step_end, step_point, step_batch };

struct timing {
    const struct fc_transfer *transfer;
    struct fc_work work;
};

static double repeat_timing(const void *data, unsigned long long repetitions)
{
    const struct timing *const timing = data;
    return timing->transfer->repeat(timing->transfer->data, &timing->work, repetitions);
}

static struct timing share_step(const struct fc_search *search, unsigned long long step[step_words])
{
    FC_MPI(MPI_Bcast(step, step_words, MPI_UNSIGNED_LONG_LONG, 0, search->world->comm));
    return (struct timing){&search->transfer, {step[step_iterations], step[step_test_every], step[step_alone] != 0}};
}

/* Ranks other than 0: do the steps that rank 0 asks for. */
static void follow_steps(struct fc_search *search)
{
    for (;;) {
        unsigned long long step[step_words];
        const struct timing timing = share_step(search, step);
        const struct fc_subject subject = {repeat_timing, &timing, 1.0, 0};
        switch (step[step_kind]) {
        case step_end: return;
        case step_point: fc_follow(search->world, &subject); break;
        case step_batch:
        default: fc_follow_batch(search->world, &subject); break;
        }
    }
}

/* Rank 0 only: lets the others go on. */
static void end_steps(const struct fc_search *search)
{
    unsigned long long step[step_words] = {step_end, 0, 0, 0};
    share_step(search, step);
}

/* Returns the iterations of work that take so long, at least one. */
static unsigned long long iterations_of(const struct fc_search *search, double seconds)
{
    const double iterations = seconds / search->iteration;
    return iterations > 1.0 ? (unsigned long long)iterations : 1;
}

static unsigned long long poll_iterations(const struct fc_search *search)
{
    return iterations_of(search, 1e-6 * search->plan->poll_interval);
}

/* Rank 0 only: has all ranks do a step. */
static struct timing lead(const struct fc_search *search, unsigned long long kind, bool alone,
                          unsigned long long iterations)
{
    const unsigned long long every = search->plan->poll && !alone ? poll_iterations(search) : 0;
    unsigned long long step[step_words] = {kind, alone, iterations, every};
    return share_step(search, step);
}

static void write_series(const struct fc_search *search, enum fc_series series, const char *part,
                         unsigned long long iterations)
{
    char what[80];
    snprintf(what, sizeof what, "%zu %s %s %llu", search->size, search->transfer.name, part, iterations);
    fc_write_raw(search->raw, what, &search->samples[series]);
}

/* Rank 0 only: returns the seconds of a transfer with so much work, or of the work alone. */
static double time_point(struct fc_search *search, bool alone, unsigned long long iterations)
{
    const struct timing timing = lead(search, step_point, alone, iterations);
    struct fc_subject subject = {repeat_timing, &timing, 1.0, 0};
    const struct fc_result result = fc_measure(search->world, &search->rule, &subject, &search->samples[FC_TRANSFER]);
    write_series(search, FC_TRANSFER, alone ? "work" : "transfer", iterations);
    return result.median;
}

/* Collective: returns the seconds of one iteration of the work, on rank 0. */
static double time_iteration(struct fc_search *search)
{
    enum { iterations = 1000 };
    if (search->world->rank != 0) {
        follow_steps(search);
        return 0.0;
    }
    const double seconds = time_point(search, true, iterations);
    end_steps(search);
    return seconds / iterations;
}

/* Medians of series, from which the values of a search come. */
struct times {
    struct fc_result of[FC_SERIES];
};

/* Returns the seconds of one repetition. */
static double time_batch(const struct fc_search *search, bool alone, unsigned long long iterations,
                         unsigned long long repetitions)
{
    const struct timing timing = lead(search, step_batch, alone, iterations);
    struct fc_subject subject = {repeat_timing, &timing, 1.0, 0};
    return fc_batch(search->world, &subject, repetitions) / (double)repetitions;
}

/* Adds one sample of each series; in a row, so that a drift of the machine is in all of them. */
static void add_round(struct fc_search *search, unsigned long long iterations)
{
    const unsigned long long repetitions = (unsigned long long)(fc_wanted_batch(&search->rule) / search->nominal) + 1;
    const double nominal = time_batch(search, false, 0, repetitions);
    const double transfer = time_batch(search, false, iterations, repetitions);
    const double work = time_batch(search, true, iterations, repetitions);
    fc_add_sample(&search->samples[FC_NOMINAL], nominal);
    fc_add_sample(&search->samples[FC_TRANSFER], transfer);
    fc_add_sample(&search->samples[FC_WORK], work);
    fc_add_sample(&search->samples[FC_EXCESS], transfer - work);
}

/* The uncertainty of the overhead matters as a share of nominal: so it is in the availability. */
static bool is_settled(const struct fc_search *search, const struct times *times)
{
    const struct fc_result *const nominal = &times->of[FC_NOMINAL];
    const struct fc_result *const excess = &times->of[FC_EXCESS];
    const double margin = search->rule.ci_share * nominal->median;
    return fc_is_narrow(nominal, search->rule.ci_share) && excess->low >= excess->median - margin &&
           excess->high <= excess->median + margin;
}

/*
 * Rank 0 only: samples nominal, transfer and work in turns, until their intervals are narrow or so many seconds are
 * over. The nominal time is kept.
 */
static struct times time_rounds(struct fc_search *search, unsigned long long iterations, double cap)
{
    const double begin = MPI_Wtime();
    struct times times;
    search->steps++;
    for (int series = 0; series < FC_SERIES; series++) {
        search->samples[series].count = 0;
    }
    for (size_t next_look = search->rule.min_samples;;) {
        add_round(search, iterations);
        const size_t count = search->samples[FC_EXCESS].count;
        const double seconds = MPI_Wtime() - begin;
        const bool over = seconds >= cap && count >= FC_FEWEST_SAMPLES;
        if (!over && (count < next_look || seconds < FC_LEAST_SHARE * cap)) {
            continue;
        }
        next_look = count + count / 10 + 1;
        for (int series = 0; series < FC_SERIES; series++) {
            times.of[series] = fc_summarise(&search->samples[series]);
        }
        if (over || is_settled(search, &times)) {
            break;
        }
    }
    write_series(search, FC_NOMINAL, "transfer", 0);
    write_series(search, FC_TRANSFER, "transfer", iterations);
    write_series(search, FC_WORK, "work", iterations);
    search->nominal = times.of[FC_NOMINAL].median;
    if (!(search->nominal > 0.0)) {
        fc_abort("a transfer took no time that MPI_Wtime can measure; the clock of this MPI is too coarse");
    }
    return times;
}

static struct times time_step(struct fc_search *search, unsigned long long iterations)
{
    return time_rounds(search, iterations, search->rule.max_seconds);
}

/* For the values that are printed, which deserve more time. */
static struct times time_final(struct fc_search *search, unsigned long long iterations)
{
    enum { longer = 5 };
    return time_rounds(search, iterations, longer * search->rule.max_seconds);
}

/* ------------------------------------------------------------------ values */

struct overlap {
    double nominal;  /* seconds, as are the next four */
    double overhead; /* time of the transfer with work, less the time of the work alone */
    double low;      /* ends of its 95 % confidence interval */
    double high;
    double work;         /* the work alone */
    double availability; /* percent */
    size_t steps;
    const char *stop;   /* `knee`, `none` or `cap`, see --help */
    double osu_overlap; /* percent */
};

static double at_least(double value, double least)
{
    return value > least ? value : least;
}

/* Returns percent. */
static double availability(double overhead, double nominal)
{
    return overhead < nominal ? 100.0 * (1.0 - overhead / nominal) : 0.0;
}

static struct overlap evaluate(const struct fc_search *search, const struct times *times, const char *stop)
{
    const struct fc_result *const nominal = &times->of[FC_NOMINAL];
    const double step = search->rule.resolution;
    const double least = step < nominal->median ? step : nominal->median;
    const struct fc_result *const excess = strcmp(stop, "none") == 0 ? nominal : &times->of[FC_EXCESS];
    const double overhead = at_least(excess->median, least);
    return (struct overlap){.nominal = nominal->median,
                            .overhead = overhead,
                            .low = at_least(excess->low, least),
                            .high = at_least(excess->high, least),
                            .work = times->of[FC_WORK].median,
                            .availability = availability(overhead, nominal->median),
                            .steps = search->steps,
                            .stop = stop};
}

static void print_overlap(const struct fc_search *search, const struct overlap *overlap)
{
    fc_print(search->world, " %.6g %.6g %.6g %.6g %.6g %.6g %zu %s", 1e6 * overlap->nominal, 1e6 * overlap->overhead, 1e6 * overlap->low,
           1e6 * overlap->high, overlap->availability, 1e6 * overlap->work, overlap->steps, overlap->stop);
    if (search->gives_osu_overlap) {
        fc_print(search->world, " %.6g", overlap->osu_overlap);
    }
}

/* ------------------------------------------------------------------ search */

static bool is_longer(const struct times *times, double share)
{
    return times->of[FC_TRANSFER].median > times->of[FC_NOMINAL].median * (1.0 + share);
}

/*
 * Returns whether the work that a search ended with does lengthen the transfer. Work that is too long does no harm: the
 * overhead is what the transfer takes beyond it. Work that is too short would count idle time as overhead, so in doubt
 * the answer is no.
 */
static bool is_confirmed(const struct fc_search *search, const struct times *times)
{
    const double nominal = times->of[FC_NOMINAL].median;
    const bool by_work = times->of[FC_WORK].median > nominal; /* the transfer cannot be shorter */
    return is_longer(times, 0.5 * search->plan->knee_share) && (times->of[FC_TRANSFER].low > nominal || by_work);
}

/*
 * Returns whether the transfer with this work is longer only by a disturbance: beyond a knee the time grows as fast as
 * the work; if with more work it hardly grows, the work still fits. Takes a step, unless the work is longer than
 * nominal.
 */
static bool is_bump(struct fc_search *search, const struct times *times, unsigned long long iterations)
{
    const double nominal = times->of[FC_NOMINAL].median;
    if (times->of[FC_WORK].median > nominal) {
        return false;
    }
    const struct times beyond = time_step(search, iterations + iterations_of(search, 0.25 * nominal));
    const double fallen = times->of[FC_EXCESS].median - beyond.of[FC_EXCESS].median;
    return fallen > 0.75 * (beyond.of[FC_WORK].median - times->of[FC_WORK].median);
}

/* Work that fits into the transfer, and work that does not; iterations. */
struct bracket {
    unsigned long long low;
    unsigned long long high;
};

/* From a work that fits to one that cannot: it alone takes longer than a lengthened transfer. */
static struct bracket open_bracket(const struct fc_search *search, unsigned long long low)
{
    const double longest = search->nominal * (1.0 + 2.0 * search->plan->knee_share);
    return (struct bracket){low, low + iterations_of(search, longest) + 1};
}

/* Returns 1 % of nominal: a bracket is closed when it is not wider, and less work is none. */
static unsigned long long bracket_width(const struct fc_search *search)
{
    return iterations_of(search, 0.01 * search->nominal);
}

/*
 * Returns false if the steps are used up, but for the last ones, before the bracket is closed. The bisection begins in
 * the middle of nominal, not at a small work, since there a transfer of a few microseconds may take longer for reasons
 * of its own, without being full.
 */
static bool close_bracket(struct fc_search *search, struct bracket *bracket)
{
    enum { last_steps = 2 }; /* the values, and whether they are those of a bump */
    while (bracket->high - bracket->low > bracket_width(search)) {
        if (search->steps + last_steps >= search->plan->max_steps) {
            return false;
        }
        const unsigned long long middle = bracket->low + (bracket->high - bracket->low) / 2;
        const struct times times = time_step(search, middle);
        if (is_longer(&times, search->plan->knee_share)) {
            bracket->high = middle;
        } else {
            bracket->low = middle;
        }
    }
    return true;
}

/* Rank 0 only, while the others follow its steps. */
static struct overlap find_overlap(struct fc_search *search)
{
    enum { patience = 40 }; /* times the cap of a step: after that nothing is tried again */
    const double begin = MPI_Wtime();
    search->steps = 0;
    search->nominal = time_point(search, false, 0);
    struct bracket bracket = open_bracket(search, 0);
    for (;;) {
        const bool closed = close_bracket(search, &bracket);
        const struct times times = time_final(search, bracket.high);
        if (closed && is_confirmed(search, &times) && !is_bump(search, &times, bracket.high)) {
            return evaluate(search, &times, bracket.high <= bracket_width(search) ? "none" : "knee");
        }
        const bool late = MPI_Wtime() - begin > patience * search->rule.max_seconds;
        if (!closed || late || search->steps >= search->plan->max_steps) {
            return evaluate(search, &times, "cap");
        }
        bracket = open_bracket(search, bracket.high);
    }
}

/* Rank 0 only: returns percent. The work is as long as the nominal time, as OSU chooses it. */
static double find_osu_overlap(struct fc_search *search)
{
    const struct times times = time_final(search, iterations_of(search, search->nominal));
    const double excess = times.of[FC_EXCESS].median;
    return excess > 0.0 ? availability(excess, times.of[FC_NOMINAL].median) : 100.0;
}

/* ----------------------------------------------------------------- program */

struct fc_search fc_begin_search(const struct fc_world *world, const struct fc_overlap_plan *plan,
                                 struct fc_transfer idle, const struct fc_option *options)
{
    struct fc_search search = {.world = world, .rule = plan->sweep.rule, .plan = &plan->search, .transfer = idle};
    FILE *const raw = fc_open_raw(world, plan->sweep.raw_name);
    search.rule.resolution = world->rank == 0 ? fc_clock_resolution() : 0.0;
    search.iteration = time_iteration(&search);
    search.raw = raw; /* from here on: that was no measurement */
    fc_begin_head(world, search.rule.resolution, options);
    if (world->rank == 0) {
        fc_print(world, "# work: one iteration takes %.4g ns\n# poll: ", 1e9 * search.iteration);
        if (plan->search.poll) {
            fc_print(world, "MPI_Test every %.6g us, which are %llu iterations of work\n", plan->search.poll_interval,
                   poll_iterations(&search));
        } else {
            fc_print(world, "no\n");
        }
    }
    return search;
}

/* Collective: searches for one size and one transfer and verifies afterwards what arrived. */
static struct overlap measure_transfer(struct fc_search *search, const struct fc_transfer *transfer)
{
    struct overlap overlap = {.stop = NULL};
    search->transfer = *transfer;
    transfer->prepare(transfer->data);
    FC_MPI(MPI_Barrier(search->world->comm));
    if (search->world->rank == 0) {
        overlap = find_overlap(search);
        overlap.osu_overlap = search->gives_osu_overlap ? find_osu_overlap(search) : 0.0;
        end_steps(search);
    } else {
        follow_steps(search);
    }
    transfer->verify(transfer->data);
    return overlap;
}

size_t fc_measure_overlap(struct fc_search *search, const struct fc_sweep *sweep, const struct fc_transfer *transfers,
                          int count, size_t *size)
{
    enum { most = 4 };
    struct overlap overlaps[most];
    size_t rows = 0;
    for (*size = fc_first_size(sweep, fc_next_power_of_two); *size <= sweep->max_size;
         *size = fc_next_power_of_two(*size)) {
        search->size = *size;
        for (int i = 0; i < count && i < most; i++) {
            overlaps[i] = measure_transfer(search, &transfers[i]);
        }
        if (search->world->rank == 0) {
            fc_print(search->world, "%zu", *size);
            for (int i = 0; i < count && i < most; i++) {
                print_overlap(search, &overlaps[i]);
            }
            fc_print(search->world, "\n");
        }
        fc_check_output(search->world);
        fc_check_raw(search->world, search->raw);
        rows++;
    }
    return rows;
}

int fc_end_search(struct fc_search *search, size_t rows)
{
    fc_close_raw(search->world, search->raw);
    for (int series = 0; series < FC_SERIES; series++) {
        fc_free_samples(&search->samples[series]);
    }
    return fc_finish(search->world, rows);
}
