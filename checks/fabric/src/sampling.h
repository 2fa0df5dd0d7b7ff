// SPDX-License-Identifier: BSD-3-Clause
/*
 * From repetitions to a median with its confidence interval: the clock, statistics, and the
 * loop that samples one point.
 */
#ifndef SAMPLING_H
#define SAMPLING_H

#include "options.h"

/* ------------------------------------------------------------------- clock */

/*
 * The smallest step of MPI_Wtime that can be seen. The number of calls is
 * bounded because a simulated clock may stand still between messages; then
 * MPI_Wtick has to be believed.
 */
static inline double fc_clock_resolution(void)
{
    enum { calls = 200000, steps = 100 };
    double smallest = 0.0;
    double before = MPI_Wtime();
    for (int call = 0, step = 0; call < calls && step < steps; call++) {
        const double now = MPI_Wtime();
        if (now > before) {
            smallest = smallest > 0.0 && smallest < now - before ? smallest : now - before;
            step++;
        }
        before = now;
    }
    return smallest > 0.0 ? smallest : MPI_Wtick();
}

/* -------------------------------------------------------------- statistics */

/* Samples in the order they were taken, and a copy to sort; owned by rank 0. */
struct fc_samples {
    double *value;
    double *sorted;
    size_t count;
    size_t capacity;
};

struct fc_result {
    double median; /* seconds, as are the ends of its 95 % confidence interval */
    double low;
    double high;
    size_t samples;
    const char *stop; /* `ci`: the interval got narrow enough; `cap`: the time was up */
};

static inline int fc_compare_doubles(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Of values in ascending order; there is at least one. */
static inline double fc_median(const double *sorted, size_t count)
{
    const size_t half = count / 2;
    return count % 2 == 1 ? sorted[half] : 0.5 * (sorted[half - 1] + sorted[half]);
}

/*
 * Ranks (from 1) of the order statistics that enclose the median with 95 %
 * confidence whatever the distribution is: the number of samples below the
 * median is binomial with p = 1/2, here in its normal approximation (Le Boudec,
 * Performance Evaluation, 2010; Hoefler and Belli, SC15). Below 8 samples they
 * would leave the sample; they are then its ends, and cover less than 95 %
 * below 6.
 */
static inline void fc_interval_ranks(size_t count, size_t *low, size_t *high)
{
    const double n = (double)count;
    size_t below = count / 2; /* largest b with n - 2 b >= 1.96 sqrt(n), squared: needs no libm */
    while (below > 0 && (n - 2.0 * (double)below) * (n - 2.0 * (double)below) < 1.96 * 1.96 * n) {
        below--;
    }
    *low = below < 1 ? 1 : below;
    *high = below < 1 ? count : count + 1 - below;
}

/* Median and interval of all samples so far; there is at least one. */
static inline struct fc_result fc_summarise(const struct fc_samples *samples)
{
    const size_t count = samples->count;
    size_t low = 0;
    size_t high = 0;
    memcpy(samples->sorted, samples->value, count * sizeof *samples->sorted);
    qsort(samples->sorted, count, sizeof *samples->sorted, fc_compare_doubles);
    fc_interval_ranks(count, &low, &high);
    return (struct fc_result){fc_median(samples->sorted, count), samples->sorted[low - 1],
                              samples->sorted[high - 1], count, NULL};
}

/* Seconds of one operation. */
static inline void fc_add_sample(struct fc_samples *samples, double value)
{
    if (samples->count == samples->capacity) {
        const size_t capacity = samples->capacity == 0 ? 1024 : 2 * samples->capacity;
        if (capacity > SIZE_MAX / sizeof(double)) {
            fc_abort("too many samples; lower --max-seconds-per-point");
        }
        double *const values = realloc(samples->value, capacity * sizeof(double));
        samples->value = values != NULL ? values : samples->value;
        double *const sorted = realloc(samples->sorted, capacity * sizeof(double));
        samples->sorted = sorted != NULL ? sorted : samples->sorted;
        if (values == NULL || sorted == NULL) {
            fc_abort("no memory for %zu samples; lower --max-seconds-per-point", capacity);
        }
        samples->capacity = capacity;
    }
    samples->value[samples->count++] = value;
}

static inline void fc_free_samples(struct fc_samples *samples)
{
    free(samples->value);
    free(samples->sorted);
    *samples = (struct fc_samples){NULL, NULL, 0, 0};
}

/* ---------------------------------------------------------------- sampling */

#define FC_LEAST_BATCH 200e-6 /* seconds: shorter samples are at the mercy of interrupts */

/* When to stop sampling. The same on all ranks, only rank 0 applies it. */
struct fc_rule {
    double ci_share;     /* both ends of the interval are within this share of the median */
    double max_seconds;  /* cap on the time spent with one point */
    size_t min_samples;  /* fewest samples before the interval is trusted */
    size_t warmup;       /* repetitions before the first sample */
    double min_batch;    /* seconds: a sample is at least so long, whatever the clock can tell */
    double resolution;   /* of the clock, seconds */
};

#define FC_RULE_DEFAULTS {0.05, 0.25, 30, 10, FC_LEAST_BATCH, 0.0}

/* The rows of an option table that set a rule. */
#define FC_RULE_OPTIONS(rule)                                                                    \
    {"ci-share", FC_REAL, &(rule).ci_share, 1e-6, 1.0,                                           \
     "stop when both ends of the 95 % confidence interval of the median are within\n"            \
     "        this share of the median", NULL},                                                  \
    {"max-seconds-per-point", FC_REAL, &(rule).max_seconds, 1e-6, 86400.0,                       \
     "seconds after which a point ends without that (but not before 8 samples);\n"               \
     "        no point ends before a fifth of it, to see slow disturbances too", NULL},          \
    {"min-samples", FC_COUNT, &(rule).min_samples, FC_FEWEST_SAMPLES, 1e6,                       \
     "samples before the interval is trusted", NULL},                                            \
    {"warmup", FC_COUNT, &(rule).warmup, 0, 1e6,                                                 \
     "repetitions before the first sample of a point, at most a quarter of the cap", NULL},     \
    {"min-batch", FC_REAL, &(rule).min_batch, 0.0, 1.0,                                          \
     "seconds that a sample takes at least; 0 where nothing disturbs, as in a simulator", NULL}

enum { FC_FEWEST_SAMPLES = 8 }; /* below it the order statistics give no 95 % interval */

static const double fc_least_share = 0.2; /* of the cap: a converged point lasts so long */
static const double fc_least_ticks = 100.0; /* a sample is so many steps of the clock at least */
static const unsigned long long fc_longest_batch = 1ULL << 20;

/*
 * What is measured. The function is called on all ranks with the same number of
 * repetitions; on rank 0 it returns the seconds they took. Rank 0 enters it
 * after all other ranks are about to.
 */
struct fc_subject {
    double (*repeat)(const void *data, unsigned long long repetitions);
    const void *data; /* for the function; it may hold pointers to buffers to write */
    double operations; /* per repetition: a sample is the time of one operation */
    unsigned long long *repeated; /* on rank 0: counts the repetitions; NULL if nobody asks */
};

/*
 * Rank 0 announces the next batch (0: none) and waits until the others have
 * answered. Both lie outside the timed section, and because an answer is sent
 * by a rank that has nothing else left to do, nobody is late for the batch.
 */
static inline unsigned long long fc_announce(const struct fc_world *world,
                                             unsigned long long repetitions)
{
    int ready = 1;
    int all_ready = 0;
    FC_MPI(MPI_Bcast(&repetitions, 1, MPI_UNSIGNED_LONG_LONG, 0, world->comm));
    FC_MPI(MPI_Reduce(&ready, &all_ready, 1, MPI_INT, MPI_MIN, 0, world->comm));
    return repetitions;
}

/* Rank 0 only: has all ranks do a batch; returns the seconds it took. */
static inline double fc_batch(const struct fc_world *world, const struct fc_subject *subject,
                              unsigned long long repetitions)
{
    fc_announce(world, repetitions);
    if (subject->repeated != NULL) {
        *subject->repeated += repetitions;
    }
    return subject->repeat(subject->data, repetitions);
}

static inline void fc_warm_up(const struct fc_world *world, const struct fc_rule *rule,
                              const struct fc_subject *subject)
{
    const double begin = MPI_Wtime();
    for (size_t i = 0; i < rule->warmup && MPI_Wtime() - begin < rule->max_seconds / 4; i++) {
        fc_batch(world, subject, 1);
    }
}

/* Shortest of a few batches: one that was interrupted must not pass for a long one. */
static inline double fc_shortest_batch(const struct fc_world *world, const struct fc_rule *rule,
                                       const struct fc_subject *subject,
                                       unsigned long long repetitions, double wanted)
{
    double shortest = fc_batch(world, subject, repetitions);
    for (int i = 0; i < 2 && shortest >= wanted && shortest < 0.05 * rule->max_seconds; i++) {
        const double next = fc_batch(world, subject, repetitions);
        shortest = next < shortest ? next : shortest;
    }
    return shortest;
}

/*
 * The number of repetitions whose time the clock can tell. It is raised by what
 * is missing, but at most tenfold, since a short time says little about it.
 */
static inline unsigned long long fc_calibrate(const struct fc_world *world,
                                              const struct fc_rule *rule,
                                              const struct fc_subject *subject)
{
    const double by_clock = fc_least_ticks * rule->resolution;
    const double wanted = by_clock > rule->min_batch ? by_clock : rule->min_batch;
    unsigned long long repetitions = 1;
    for (;;) {
        const double seconds = fc_shortest_batch(world, rule, subject, repetitions, wanted);
        if (seconds >= wanted) {
            return repetitions;
        }
        if (repetitions >= fc_longest_batch) {
            if (seconds > 0.0) {
                return repetitions;
            }
            fc_abort("%llu repetitions took no time that MPI_Wtime can measure; "
                     "the clock of this MPI does not advance", repetitions);
        }
        const double missing = seconds > 0.0 ? 1.2 * wanted / seconds : 10.0;
        const double factor = missing > 10.0 ? 10.0 : missing;
        const double next = (double)repetitions * (factor < 1.5 ? 1.5 : factor) + 1.0;
        repetitions = next < (double)fc_longest_batch ? (unsigned long long)next : fc_longest_batch;
    }
}

/* Both ends of the interval are within this share of the median. */
static inline bool fc_is_narrow(const struct fc_result *result, double share)
{
    return result->low >= result->median * (1.0 - share) &&
           result->high <= result->median * (1.0 + share);
}

/*
 * Applies the rule to the samples so far. Returns true when the point is done.
 * The interval is looked at again only after a tenth more samples: sorting them
 * after every sample would take longer than taking them.
 */
static inline bool fc_is_done(const struct fc_rule *rule, const struct fc_samples *samples,
                              double seconds, size_t *next_look, struct fc_result *result)
{
    const size_t count = samples->count;
    const bool over = seconds >= rule->max_seconds && count >= FC_FEWEST_SAMPLES;
    const bool enough =
        count >= rule->min_samples && seconds >= fc_least_share * rule->max_seconds;
    if (!over && !(enough && count >= *next_look)) {
        return false;
    }
    *next_look = count + count / 10 + 1;
    *result = fc_summarise(samples);
    const bool narrow = count >= rule->min_samples && fc_is_narrow(result, rule->ci_share);
    result->stop = narrow ? "ci" : "cap";
    return narrow || over;
}

/* Ranks other than 0: do the batches rank 0 announces. */
static inline void fc_follow(const struct fc_world *world, const struct fc_subject *subject)
{
    for (;;) {
        const unsigned long long repetitions = fc_announce(world, 0);
        if (repetitions == 0) {
            return;
        }
        subject->repeat(subject->data, repetitions);
    }
}

/*
 * Collective: measures one point. Warm up, find a batch the clock can resolve,
 * then take batches as samples until the confidence interval of their median is
 * narrow or the time is up. Rank 0 decides alone, between two batches, and gets
 * the result; the samples of the point remain in `samples`.
 */
static inline struct fc_result fc_measure(const struct fc_world *world, const struct fc_rule *rule,
                                          const struct fc_subject *subject,
                                          struct fc_samples *samples)
{
    struct fc_result result = {0.0, 0.0, 0.0, 0, "cap"};
    samples->count = 0;
    if (world->rank != 0) {
        fc_follow(world, subject);
        return result;
    }
    fc_warm_up(world, rule, subject);
    const unsigned long long repetitions = fc_calibrate(world, rule, subject);
    const double operations = subject->operations * (double)repetitions;
    const double begin = MPI_Wtime();
    size_t next_look = 0;
    do {
        fc_add_sample(samples, fc_batch(world, subject, repetitions) / operations);
    } while (!fc_is_done(rule, samples, MPI_Wtime() - begin, &next_look, &result));
    fc_announce(world, 0);
    if (!(result.median > 0.0)) {
        fc_abort("the median of %zu samples is not above zero; the clock of this MPI is too coarse",
                 result.samples);
    }
    return result;
}

/* One line a sample, `WHAT sample_us`; nothing without a file. */
static inline void fc_write_raw(FILE *raw, const char *what, const struct fc_samples *samples)
{
    for (size_t i = 0; raw != NULL && i < samples->count; i++) {
        fprintf(raw, "%s %.6g\n", what, 1e6 * samples->value[i]);
    }
}

/* Rank 0 only: the columns of one result, in microseconds. */
static inline void fc_print_result(const struct fc_result *result)
{
    printf(" %.6g %.6g %.6g %zu %s", 1e6 * result->median, 1e6 * result->low, 1e6 * result->high,
           result->samples, result->stop);
}

#endif
