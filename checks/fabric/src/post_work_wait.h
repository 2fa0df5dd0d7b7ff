// SPDX-License-Identifier: BSD-3-Clause
/*
 * The post-work-wait method, which `overlap` and `collective_overlap` share:
 * the search for the work that just lengthens a transfer.
 */
#ifndef POST_WORK_WAIT_H
#define POST_WORK_WAIT_H

#include "program.h"
#include "sampling.h"

/*
 * Overlap of a transfer with work, after section 5 of SAND2005-5199: a transfer
 * is posted, work is done, and then the end of the transfer is waited for. The
 * work that the transfer leaves room for is searched for.
 *
 * The work is a number of iterations and not a time: work that messaging slows
 * down takes longer, and that is overhead too.
 */
struct fc_work {
    unsigned long long iterations;
    unsigned long long test_every; /* iterations from one MPI_Test to the next; 0: none */
    bool alone;                    /* the work is timed by itself: nothing is posted */
};

/*
 * Work that is compiled into each of its callers might differ in speed from
 * the one that is timed alone.
 */
#if defined(__GNUC__)
#define FC_ONE_COPY __attribute__((noinline, unused))
#else
#define FC_ONE_COPY inline
#endif

/* Tests the first request that is not complete; false if all are. */
static inline bool fc_test_first(MPI_Request *requests, int count)
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
static FC_ONE_COPY void fc_do_work(const struct fc_work *work, MPI_Request *requests, int count)
{
    double sum = 0.0;
    unsigned long long until_test = work->alone ? 0 : work->test_every;
    for (unsigned long long i = 0; i < work->iterations; i++) {
        sum = 0.5 * sum + MPI_Wtime();
        if (until_test != 0 && --until_test == 0) {
            until_test = fc_test_first(requests, count) ? work->test_every : 0;
        }
    }
    volatile double kept = sum; /* the arithmetic must not be left out */
    (void)kept;
}

/*
 * Called on all ranks with the same work and the same number of repetitions of
 * post, work and wait; on rank 0 it returns the seconds they took.
 */
struct fc_transfer {
    const char *name; /* prefix of its columns */
    double (*repeat)(const void *data, const struct fc_work *work,
                     unsigned long long repetitions);
    const void *data;
};

struct fc_search_plan {
    double knee_share;    /* a transfer longer than nominal by more than this share is lengthened */
    size_t max_steps;     /* most works that are tried */
    bool poll;            /* call MPI_Test in the work ... */
    double poll_interval; /* ... every so many microseconds */
};

#define FC_SEARCH_DEFAULTS {0.05, 40, false, 10.0}

/* A search has about 9 steps: they are shorter than the points of other programs. */
#define FC_SEARCH_RULE_DEFAULTS {0.05, 0.05, 10, 3, FC_LEAST_BATCH, 0.0}

/* The rows of an option table that set a plan. */
#define FC_SEARCH_OPTIONS(plan)                                                                  \
    {"knee-share", FC_REAL, &(plan).knee_share, 0.001, 1.0,                                      \
     "the work ends to fit when the transfer takes longer than nominal by more than\n"           \
     "        this share", NULL},                                                                \
    {"max-steps", FC_COUNT, &(plan).max_steps, 3, 1000,                                          \
     "most works tried in a search, which then stops with `cap`", NULL},                         \
    {"poll", FC_FLAG, &(plan).poll, 0, 0, "call MPI_Test in the work", NULL},                    \
    {"poll-interval", FC_REAL, &(plan).poll_interval, 0.01, 1e6,                                 \
     "microseconds of work from one MPI_Test to the next, with --poll", NULL}

/* What is sampled: the transfer without work and with it, the work, and what is beyond it. */
enum fc_series { FC_NOMINAL, FC_TRANSFER, FC_WORK, FC_EXCESS, FC_SERIES };

/* Of one size and one transfer; the same on all ranks but for what only rank 0 knows. */
struct fc_search {
    const struct fc_world *world;
    const struct fc_rule *rule;
    const struct fc_search_plan *plan;
    struct fc_transfer transfer;
    size_t size;
    FILE *raw;        /* NULL: samples are not written to a file */
    double iteration; /* rank 0: seconds that one iteration of the work takes */
    double nominal;   /* rank 0: seconds of a transfer without work, measured last */
    size_t steps;     /* rank 0: works tried so far */
    struct fc_samples samples[FC_SERIES];
};

static inline struct fc_search fc_make_search(const struct fc_world *world,
                                              const struct fc_rule *rule,
                                              const struct fc_search_plan *plan,
                                              struct fc_transfer transfer)
{
    struct fc_search search = {world, rule, plan, transfer, 0, NULL, 0.0, 0.0, 0,
                               {{NULL, NULL, 0, 0}}};
    return search;
}

static inline void fc_free_search(struct fc_search *search)
{
    for (int series = 0; series < FC_SERIES; series++) {
        fc_free_samples(&search->samples[series]);
    }
}

struct fc_overlap {
    double nominal;  /* seconds, as are the next four */
    double overhead; /* time of the transfer with work, less the time of the work alone */
    double low;      /* ends of its 95 % confidence interval */
    double high;
    double work;         /* the work alone */
    double availability; /* percent */
    size_t steps;
    const char *stop; /* `knee`, `none` or `cap`, see --help */
};

#define FC_OVERLAP_COLUMNS(name)                                                                 \
    name "_nominal_us " name "_overhead_us " name "_overhead_ci_low_us "                         \
    name "_overhead_ci_high_us " name "_availability_percent " name "_work_us "                  \
    name "_steps " name "_stop"

#define FC_OVERLAP_METHOD                                                                        \
    "Work: iterations of a loop that reads the clock (MPI_Wtime) and adds. It is a number of\n"  \
    "iterations, not a time, so work that messaging slows down counts as overhead. It uses no\n" \
    "memory: a shortage of memory bandwidth is not seen. With --poll the work calls MPI_Test;\n" \
    "without it, only hardware or a progress thread can move messages meanwhile.\n"              \
    "\n"                                                                                         \
    "Search: nominal is the time without work. The work at which the transfer begins to be\n"    \
    "lengthened, which is to take longer than nominal by more than --knee-share, lies between\n" \
    "none and one so long that it cannot fit. This bracket is bisected until it is narrower\n"   \
    "than 1 % of nominal or one iteration. In each step the transfer without work, the transfer\n"\
    "with work and the work alone are sampled in turns, so that a drift of the machine is in\n"  \
    "all of them, until the 95 % confidence intervals of nominal and of the overhead are within\n"\
    "--ci-share of nominal or --max-seconds-per-point are over. The upper end of the bracket is\n"\
    "then measured again, for up to five times as long, and gives the values. If the transfer\n" \
    "is not lengthened by at least half of --knee-share there, or not beyond its confidence\n"   \
    "interval, or hardly grows when a quarter of nominal is added to the work, a disturbance\n"  \
    "had misled the search, which goes on above.\n"                                              \
    "Stop reasons:\n"                                                                            \
    "  knee  the bracket is closed\n"                                                            \
    "  none  the smallest work lengthens the transfer: no overlap, overhead = nominal\n"         \
    "  cap   --max-steps was reached, or a disturbed search was to go on when it had lasted\n"   \
    "        40 x --max-seconds-per-point; the values are those of the bracket's upper end,\n"   \
    "        where too much work does no harm, and are good if their interval is narrow\n"       \
    "\n"                                                                                         \
    "Overhead (effective latency): the time of the transfer with that work, less the time of\n"  \
    "the work alone; the median of the differences of neighbouring samples. This is the\n"       \
    "report's nominal time less work time without the knee share, which would bias it. A\n"      \
    "value below one step of the clock is given as one step.\n"                                  \
    "Host availability: 100 (1 - overhead / nominal) percent, 0 if the overhead exceeds it.\n"

/*
 * What rank 0 has all ranks do next: measure a point, or a single batch of it.
 * As an array, for MPI_Bcast.
 */
enum { FC_STEP_KIND, FC_STEP_ALONE, FC_STEP_ITERATIONS, FC_STEP_TEST_EVERY, FC_STEP_WORDS };
enum { FC_STEP_END, FC_STEP_POINT, FC_STEP_BATCH };

struct fc_timing {
    const struct fc_transfer *transfer;
    struct fc_work work;
};

static inline double fc_repeat_timing(const void *data, unsigned long long repetitions)
{
    const struct fc_timing *const timing = data;
    return timing->transfer->repeat(timing->transfer->data, &timing->work, repetitions);
}

static inline struct fc_timing fc_make_timing(const struct fc_search *search,
                                              const unsigned long long step[FC_STEP_WORDS])
{
    return (struct fc_timing){
        &search->transfer,
        {step[FC_STEP_ITERATIONS], step[FC_STEP_TEST_EVERY], step[FC_STEP_ALONE] != 0}};
}

static inline void fc_share_step(const struct fc_search *search,
                                 unsigned long long step[FC_STEP_WORDS])
{
    FC_MPI(MPI_Bcast(step, FC_STEP_WORDS, MPI_UNSIGNED_LONG_LONG, 0, search->world->comm));
}

/* Ranks other than 0: do the steps that rank 0 asks for. */
static inline void fc_follow_steps(struct fc_search *search)
{
    for (;;) {
        unsigned long long step[FC_STEP_WORDS];
        fc_share_step(search, step);
        const struct fc_timing timing = fc_make_timing(search, step);
        const struct fc_subject subject = {fc_repeat_timing, &timing, 1.0, NULL};
        if (step[FC_STEP_KIND] == FC_STEP_END) {
            return;
        }
        if (step[FC_STEP_KIND] == FC_STEP_POINT) {
            fc_follow(search->world, &subject);
        } else {
            fc_repeat_timing(&timing, fc_announce(search->world, 0));
        }
    }
}

/* Rank 0 only: lets the others go on. */
static inline void fc_end_steps(const struct fc_search *search)
{
    unsigned long long step[FC_STEP_WORDS] = {FC_STEP_END, 0, 0, 0};
    fc_share_step(search, step);
}

/* The iterations of work that take so long, at least one. */
static inline unsigned long long fc_iterations(const struct fc_search *search, double seconds)
{
    const double iterations = seconds / search->iteration;
    return iterations > 1.0 ? (unsigned long long)iterations : 1;
}

/* Rank 0 only. */
static inline struct fc_timing fc_lead(const struct fc_search *search, unsigned long long kind,
                                       bool alone, unsigned long long iterations)
{
    const bool poll = search->plan->poll && !alone;
    const unsigned long long every =
        poll ? fc_iterations(search, 1e-6 * search->plan->poll_interval) : 0;
    unsigned long long step[FC_STEP_WORDS] = {kind, alone, iterations, every};
    fc_share_step(search, step);
    return fc_make_timing(search, step);
}

static inline void fc_write_series(const struct fc_search *search, enum fc_series series,
                                   const char *part, unsigned long long iterations)
{
    char what[80];
    snprintf(what, sizeof what, "%zu %s %s %llu", search->size, search->transfer.name, part,
             iterations);
    fc_write_raw(search->raw, what, &search->samples[series]);
}

/* Rank 0 only: seconds of a transfer with so much work, or of the work alone. */
static inline double fc_time_point(struct fc_search *search, bool alone,
                                   unsigned long long iterations)
{
    const struct fc_timing timing = fc_lead(search, FC_STEP_POINT, alone, iterations);
    const struct fc_subject subject = {fc_repeat_timing, &timing, 1.0, NULL};
    const struct fc_result result =
        fc_measure(search->world, search->rule, &subject, &search->samples[FC_TRANSFER]);
    fc_write_series(search, FC_TRANSFER, alone ? "work" : "transfer", iterations);
    return result.median;
}

/* Collective: seconds of one iteration of the work, on rank 0. */
static inline double fc_time_iteration(struct fc_search *search)
{
    enum { iterations = 1000 };
    if (search->world->rank != 0) {
        fc_follow_steps(search);
        return 0.0;
    }
    const double seconds = fc_time_point(search, true, iterations);
    fc_end_steps(search);
    return seconds / iterations;
}

static inline double fc_at_least(double value, double least)
{
    return value > least ? value : least;
}

/* What the values of a search come from: medians of series. */
struct fc_times {
    struct fc_result of[FC_SERIES];
};

/* The repetitions of a transfer that make a sample; fc_calibrate's rule, from a known time. */
static inline unsigned long long fc_sample_repetitions(const struct fc_search *search)
{
    const double by_clock = fc_least_ticks * search->rule->resolution;
    const double wanted = fc_at_least(by_clock, search->rule->min_batch);
    return (unsigned long long)(wanted / search->nominal) + 1;
}

/* Seconds of one repetition. */
static inline double fc_time_batch(const struct fc_search *search, bool alone,
                                   unsigned long long iterations, unsigned long long repetitions)
{
    const struct fc_timing timing = fc_lead(search, FC_STEP_BATCH, alone, iterations);
    const struct fc_subject subject = {fc_repeat_timing, &timing, 1.0, NULL};
    return fc_batch(search->world, &subject, repetitions) / (double)repetitions;
}

/* One sample of each series; in a row, so that a drift of the machine is in all of them. */
static inline void fc_add_round(struct fc_search *search, unsigned long long iterations)
{
    const unsigned long long repetitions = fc_sample_repetitions(search);
    const double nominal = fc_time_batch(search, false, 0, repetitions);
    const double transfer = fc_time_batch(search, false, iterations, repetitions);
    const double work = fc_time_batch(search, true, iterations, repetitions);
    fc_add_sample(&search->samples[FC_NOMINAL], nominal);
    fc_add_sample(&search->samples[FC_TRANSFER], transfer);
    fc_add_sample(&search->samples[FC_WORK], work);
    fc_add_sample(&search->samples[FC_EXCESS], transfer - work);
}

/* The uncertainty of the overhead matters as a share of nominal: so it is in the availability. */
static inline bool fc_is_settled(const struct fc_search *search, const struct fc_times *times)
{
    const struct fc_result *const nominal = &times->of[FC_NOMINAL];
    const struct fc_result *const excess = &times->of[FC_EXCESS];
    const double margin = search->rule->ci_share * nominal->median;
    return fc_is_narrow(nominal, search->rule->ci_share) &&
           excess->low >= excess->median - margin && excess->high <= excess->median + margin;
}

/*
 * Rank 0 only: nominal, transfer and work side by side, until their intervals
 * are narrow or so many seconds are over. The nominal time is kept.
 */
static inline struct fc_times fc_time_rounds(struct fc_search *search,
                                             unsigned long long iterations, double cap)
{
    const double begin = MPI_Wtime();
    struct fc_times times;
    for (int series = 0; series < FC_SERIES; series++) {
        search->samples[series].count = 0;
    }
    for (size_t next_look = search->rule->min_samples;;) {
        fc_add_round(search, iterations);
        const size_t count = search->samples[FC_EXCESS].count;
        const double seconds = MPI_Wtime() - begin;
        const bool over = seconds >= cap && count >= FC_FEWEST_SAMPLES;
        if (!over && (count < next_look || seconds < fc_least_share * cap)) {
            continue;
        }
        next_look = count + count / 10 + 1;
        for (int series = 0; series < FC_SERIES; series++) {
            times.of[series] = fc_summarise(&search->samples[series]);
        }
        if (over || fc_is_settled(search, &times)) {
            break;
        }
    }
    fc_write_series(search, FC_NOMINAL, "transfer", 0);
    fc_write_series(search, FC_TRANSFER, "transfer", iterations);
    fc_write_series(search, FC_WORK, "work", iterations);
    search->nominal = times.of[FC_NOMINAL].median;
    if (!(search->nominal > 0.0)) {
        fc_abort("a transfer took no time that MPI_Wtime can measure; the clock of this MPI is too "
                 "coarse");
    }
    return times;
}

static inline struct fc_times fc_time_step(struct fc_search *search, unsigned long long iterations)
{
    search->steps++;
    return fc_time_rounds(search, iterations, search->rule->max_seconds);
}

/* For the values that are printed, which deserve more time. */
static inline struct fc_times fc_time_final(struct fc_search *search,
                                            unsigned long long iterations)
{
    enum { longer = 5 };
    search->steps++;
    return fc_time_rounds(search, iterations, longer * search->rule->max_seconds);
}

static inline double fc_availability(double overhead, double nominal)
{
    return overhead < nominal ? 100.0 * (1.0 - overhead / nominal) : 0.0;
}

/* Rank 0 only. */
static inline struct fc_overlap fc_evaluate(const struct fc_search *search,
                                            const struct fc_times *times, const char *stop)
{
    const struct fc_result *const nominal = &times->of[FC_NOMINAL];
    const double step = search->rule->resolution;
    const double least = step < nominal->median ? step : nominal->median;
    const bool none = strcmp(stop, "none") == 0;
    const struct fc_result *const excess = none ? nominal : &times->of[FC_EXCESS];
    const double overhead = fc_at_least(excess->median, least);
    return (struct fc_overlap){nominal->median,
                               overhead,
                               fc_at_least(excess->low, least),
                               fc_at_least(excess->high, least),
                               times->of[FC_WORK].median,
                               fc_availability(overhead, nominal->median),
                               search->steps,
                               stop};
}

static inline bool fc_is_longer(const struct fc_times *times, double share)
{
    return times->of[FC_TRANSFER].median > times->of[FC_NOMINAL].median * (1.0 + share);
}

/*
 * Whether the work that a search ended with does lengthen the transfer. Work
 * that is too long does no harm: the overhead is what the transfer takes beyond
 * it. Work that is too short would count idle time as overhead, so in doubt
 * the answer is no.
 */
static inline bool fc_is_confirmed(const struct fc_search *search, const struct fc_times *times)
{
    const double nominal = times->of[FC_NOMINAL].median;
    const bool by_work = times->of[FC_WORK].median > nominal; /* the transfer cannot be shorter */
    return fc_is_longer(times, 0.5 * search->plan->knee_share) &&
           (times->of[FC_TRANSFER].low > nominal || by_work);
}

/*
 * Whether the transfer with this work is longer only by a disturbance: beyond
 * a knee the time grows as fast as the work; if with more work it hardly grows,
 * the work still fits. Takes a step, unless the work is longer than nominal.
 */
static inline bool fc_is_bump(struct fc_search *search, const struct fc_times *times,
                              unsigned long long iterations)
{
    const double nominal = times->of[FC_NOMINAL].median;
    if (times->of[FC_WORK].median > nominal) {
        return false;
    }
    const struct fc_times beyond =
        fc_time_step(search, iterations + fc_iterations(search, 0.25 * nominal));
    const double fallen = times->of[FC_EXCESS].median - beyond.of[FC_EXCESS].median;
    return fallen > 0.75 * (beyond.of[FC_WORK].median - times->of[FC_WORK].median);
}

/* Work that fits into the transfer, and work that does not. */
struct fc_bracket {
    unsigned long long low;
    unsigned long long high;
};

/* From a work that fits to one that cannot: it alone takes longer than a lengthened transfer. */
static inline struct fc_bracket fc_open_bracket(const struct fc_search *search,
                                                unsigned long long low)
{
    const double longest = search->nominal * (1.0 + 2.0 * search->plan->knee_share);
    return (struct fc_bracket){low, low + fc_iterations(search, longest) + 1};
}

/* 1 % of nominal: a bracket is closed when it is not wider, and less work is none. */
static inline unsigned long long fc_bracket_width(const struct fc_search *search)
{
    return fc_iterations(search, 0.01 * search->nominal);
}

/*
 * Rank 0 only. False if the steps are used up, but for the last ones, before
 * the bracket is closed. The bisection begins in the middle of nominal,
 * not at a small work, since there a transfer of a few microseconds may take
 * longer for reasons of its own, without being full.
 */
static inline bool fc_close_bracket(struct fc_search *search, struct fc_bracket *bracket)
{
    enum { last_steps = 2 }; /* the values, and whether they are those of a bump */
    while (bracket->high - bracket->low > fc_bracket_width(search)) {
        if (search->steps + last_steps >= search->plan->max_steps) {
            return false;
        }
        const unsigned long long middle = bracket->low + (bracket->high - bracket->low) / 2;
        const struct fc_times times = fc_time_step(search, middle);
        if (fc_is_longer(&times, search->plan->knee_share)) {
            bracket->high = middle;
        } else {
            bracket->low = middle;
        }
    }
    return true;
}

/* Rank 0 only, while the others are in fc_follow_steps. */
static inline struct fc_overlap fc_find_overlap(struct fc_search *search)
{
    enum { patience = 40 }; /* times the cap of a step: after that nothing is tried again */
    const double begin = MPI_Wtime();
    search->steps = 0;
    search->nominal = fc_time_point(search, false, 0);
    struct fc_bracket bracket = fc_open_bracket(search, 0);
    for (;;) {
        const bool closed = fc_close_bracket(search, &bracket);
        const struct fc_times times = fc_time_final(search, bracket.high);
        if (closed && fc_is_confirmed(search, &times) &&
            !fc_is_bump(search, &times, bracket.high)) {
            const bool none = bracket.high <= fc_bracket_width(search);
            return fc_evaluate(search, &times, none ? "none" : "knee");
        }
        const bool late = MPI_Wtime() - begin > patience * search->rule->max_seconds;
        if (!closed || late || search->steps >= search->plan->max_steps) {
            return fc_evaluate(search, &times, "cap");
        }
        bracket = fc_open_bracket(search, bracket.high);
    }
}

/* Rank 0 only: the lines of the header that tell the work. */
static inline void fc_print_work(const struct fc_search *search)
{
    printf("# work: one iteration takes %.4g ns\n# poll: ", 1e9 * search->iteration);
    if (search->plan->poll) {
        printf("MPI_Test every %.6g us, which are %llu iterations of work\n",
               search->plan->poll_interval,
               fc_iterations(search, 1e-6 * search->plan->poll_interval));
    } else {
        printf("no\n");
    }
}

/* Rank 0 only: the columns of FC_OVERLAP_COLUMNS. */
static inline void fc_print_overlap(const struct fc_overlap *overlap)
{
    printf(" %.6g %.6g %.6g %.6g %.6g %.6g %zu %s", 1e6 * overlap->nominal,
           1e6 * overlap->overhead, 1e6 * overlap->low, 1e6 * overlap->high,
           overlap->availability, 1e6 * overlap->work, overlap->steps, overlap->stop);
}

#endif
