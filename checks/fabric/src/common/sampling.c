// SPDX-License-Identifier: BSD-3-Clause
#include "sampling.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

double fc_clock_resolution(void)
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

int fc_compare_doubles(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return (a > b) - (a < b);
}

double fc_median(const double *sorted, size_t count)
{
    const size_t half = count / 2;
    return count % 2 == 1 ? sorted[half] : 0.5 * (sorted[half - 1] + sorted[half]);
}

/*
 * Sets the ranks (from 1) of the order statistics that enclose the median with 95 % confidence whatever the
 * distribution is: the number of samples below the median is binomial with p = 1/2, here in its normal approximation
 * (Le Boudec, Performance Evaluation, 2010; Hoefler and Belli, SC15). Below 8 samples they would leave the sample; they
 * are then its ends, and cover less than 95 % below 6.
 */
static void interval_ranks(size_t count, size_t *low, size_t *high)
{
    const double n = (double)count;
    size_t below = count / 2; /* largest b with n - 2 b >= 1.96 sqrt(n), squared: needs no libm */
    while (below > 0 && (n - 2.0 * (double)below) * (n - 2.0 * (double)below) < 1.96 * 1.96 * n) {
        below--;
    }
    *low = below < 1 ? 1 : below;
    *high = below < 1 ? count : count + 1 - below;
}

struct fc_result fc_summarise(const struct fc_samples *samples)
{
    const size_t count = samples->count;
    size_t low = 0;
    size_t high = 0;
    memcpy(samples->sorted, samples->value, count * sizeof *samples->sorted);
    qsort(samples->sorted, count, sizeof *samples->sorted, fc_compare_doubles);
    interval_ranks(count, &low, &high);
    return (struct fc_result){fc_median(samples->sorted, count), samples->sorted[low - 1], samples->sorted[high - 1],
                              count, NULL};
}

bool fc_is_narrow(const struct fc_result *result, double share)
{
    return result->low >= result->median * (1.0 - share) && result->high <= result->median * (1.0 + share);
}

void fc_add_sample(struct fc_samples *samples, double value)
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

void fc_free_samples(struct fc_samples *samples)
{
    free(samples->value);
    free(samples->sorted);
    *samples = (struct fc_samples){NULL, NULL, 0, 0};
}

/* ---------------------------------------------------------------- sampling */

/*
 * Shares the number of repetitions of the next batch (0: none), as rank 0 has it, and lets rank 0 wait until the others
 * have answered. Both lie outside the timed section, and because an answer is sent by a rank that has nothing else left
 * to do, nobody is late for the batch.
 */
static unsigned long long announce(const struct fc_world *world, unsigned long long repetitions)
{
    int ready = 1;
    int all_ready = 0;
    FC_MPI(MPI_Bcast(&repetitions, 1, MPI_UNSIGNED_LONG_LONG, 0, world->comm));
    FC_MPI(MPI_Reduce(&ready, &all_ready, 1, MPI_INT, MPI_MIN, 0, world->comm));
    return repetitions;
}

double fc_batch(const struct fc_world *world, struct fc_subject *subject, unsigned long long repetitions)
{
    announce(world, repetitions);
    subject->repeated += repetitions;
    return subject->repeat(subject->data, repetitions);
}

void fc_follow_batch(const struct fc_world *world, const struct fc_subject *subject)
{
    subject->repeat(subject->data, announce(world, 0));
}

void fc_follow(const struct fc_world *world, const struct fc_subject *subject)
{
    for (unsigned long long repetitions = 0; (repetitions = announce(world, 0)) != 0;) {
        subject->repeat(subject->data, repetitions);
    }
}

static void warm_up(const struct fc_world *world, const struct fc_rule *rule, struct fc_subject *subject)
{
    const double begin = MPI_Wtime();
    for (size_t i = 0; i < rule->warmup && MPI_Wtime() - begin < rule->max_seconds / 4; i++) {
        fc_batch(world, subject, 1);
    }
}

/* Returns the shortest of a few batches: one that was interrupted must not pass for a long one. */
static double shortest_batch(const struct fc_world *world, const struct fc_rule *rule, struct fc_subject *subject,
                             unsigned long long repetitions)
{
    double shortest = fc_batch(world, subject, repetitions);
    for (int i = 0; i < 2 && shortest >= fc_wanted_batch(rule) && shortest < 0.05 * rule->max_seconds; i++) {
        const double next = fc_batch(world, subject, repetitions);
        shortest = next < shortest ? next : shortest;
    }
    return shortest;
}

double fc_wanted_batch(const struct fc_rule *rule)
{
    enum { least_ticks = 100 };
    const double by_clock = least_ticks * rule->resolution;
    return by_clock > rule->min_batch ? by_clock : rule->min_batch;
}

/*
 * Returns the number of repetitions whose time the clock can resolve. It is raised by what is missing, but at most
 * tenfold, since a short time says little about it.
 */
static unsigned long long calibrate(const struct fc_world *world, const struct fc_rule *rule,
                                    struct fc_subject *subject)
{
    const unsigned long long longest = 1ULL << 20;
    const double wanted = fc_wanted_batch(rule);
    unsigned long long repetitions = 1;
    for (;;) {
        const double seconds = shortest_batch(world, rule, subject, repetitions);
        if (seconds >= wanted || (repetitions >= longest && seconds > 0.0)) {
            return repetitions;
        }
        if (repetitions >= longest) {
            fc_abort("%llu repetitions took no time that MPI_Wtime can measure; the clock of this MPI does not advance",
                     repetitions);
        }
        const double missing = seconds > 0.0 ? 1.2 * wanted / seconds : 10.0;
        const double factor = missing > 10.0 ? 10.0 : missing;
        const double next = (double)repetitions * (factor < 1.5 ? 1.5 : factor) + 1.0;
        repetitions = next < (double)longest ? (unsigned long long)next : longest;
    }
}

/*
 * Applies the rule to the samples so far. Returns true when the point is done. The interval is looked at again only
 * after a tenth more samples: sorting them after every sample would take longer than taking them.
 */
static bool is_done(const struct fc_rule *rule, const struct fc_samples *samples, double seconds, size_t *next_look,
                    struct fc_result *result)
{
    const size_t count = samples->count;
    const bool over = seconds >= rule->max_seconds && count >= FC_FEWEST_SAMPLES;
    const bool enough = count >= rule->min_samples && seconds >= FC_LEAST_SHARE * rule->max_seconds;
    if (!over && !(enough && count >= *next_look)) {
        return false;
    }
    *next_look = count + count / 10 + 1;
    *result = fc_summarise(samples);
    const bool narrow = count >= rule->min_samples && fc_is_narrow(result, rule->ci_share);
    result->stop = narrow ? "ci" : "cap";
    return narrow || over;
}

/*
 * Warm up, find a batch the clock can resolve, then take batches as samples until the confidence interval of their
 * median is narrow or the time is up.
 */
struct fc_result fc_measure(const struct fc_world *world, const struct fc_rule *rule, struct fc_subject *subject,
                            struct fc_samples *samples)
{
    struct fc_result result = {0.0, 0.0, 0.0, 0, "cap"};
    samples->count = 0;
    if (world->rank != 0) {
        fc_follow(world, subject);
        return result;
    }
    warm_up(world, rule, subject);
    const unsigned long long repetitions = calibrate(world, rule, subject);
    const double operations = subject->operations * (double)repetitions;
    const double begin = MPI_Wtime();
    size_t next_look = 0;
    do {
        fc_add_sample(samples, fc_batch(world, subject, repetitions) / operations);
    } while (!is_done(rule, samples, MPI_Wtime() - begin, &next_look, &result));
    announce(world, 0);
    if (!(result.median > 0.0)) {
        fc_abort("the median of %zu samples is not above zero; the clock of this MPI is too coarse", result.samples);
    }
    return result;
}

void fc_write_raw(FILE *raw, const char *what, const struct fc_samples *samples)
{
    for (size_t i = 0; raw != NULL && i < samples->count; i++) {
        fprintf(raw, "%s %.6g\n", what, 1e6 * samples->value[i]);
    }
}

void fc_print_result(const struct fc_world *world, const struct fc_result *result)
{
    fc_print(world, " %.6g %.6g %.6g %zu %s", 1e6 * result->median, 1e6 * result->low, 1e6 * result->high, result->samples,
           result->stop);
}
