// SPDX-License-Identifier: BSD-3-Clause
/*
 * From repetitions to a median with its confidence interval: the clock, statistics, and the loop that samples one
 * point.
 */
#ifndef SAMPLING_H
#define SAMPLING_H

#include "output.h"

/*
 * Returns the smallest step of MPI_Wtime that can be seen, seconds. The number of calls is bounded because a simulated
 * clock may stand still between messages; then MPI_Wtick has to be believed.
 */
double fc_clock_resolution(void);

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

/* For qsort. */
int fc_compare_doubles(const void *left, const void *right);

/* Returns the median of values in ascending order; there is at least one. */
double fc_median(const double *sorted, size_t count);

/* Returns median and interval of all samples so far; there is at least one. */
struct fc_result fc_summarise(const struct fc_samples *samples);

/* Returns whether both ends of the interval are within this share of the median. */
bool fc_is_narrow(const struct fc_result *result, double share);

/* Adds the seconds of one operation. */
void fc_add_sample(struct fc_samples *samples, double value);

void fc_free_samples(struct fc_samples *samples);

/* ---------------------------------------------------------------- sampling */

/* When to stop sampling. The same on all ranks, only rank 0 applies it. */
struct fc_rule {
    double ci_share;    /* both ends of the interval are within this share of the median */
    double max_seconds; /* cap on the time spent with one point */
    size_t min_samples; /* fewest samples before the interval is trusted */
    size_t warmup;      /* repetitions before the first sample */
    double min_batch;   /* seconds: a sample lasts at least so long, whatever the clock can resolve */
    double resolution;  /* of the clock, seconds */
};

#define FC_LEAST_BATCH 200e-6 /* seconds: interrupts spoil shorter samples */
#define FC_RULE_DEFAULTS {0.05, 0.25, 30, 10, FC_LEAST_BATCH, 0.0}

enum { FC_FEWEST_SAMPLES = 8 }; /* fewer order statistics give no 95 % interval */

#define FC_LEAST_SHARE 0.2 /* of the cap: a converged point lasts so long */

/* clang-format off */
/* The rows of an option table that set a rule. */
#define FC_RULE_OPTIONS(rule)                                                                                          \
    {"ci-share", FC_REAL, &(rule).ci_share, 1e-6, 1.0,                                                                 \
     "stop when both ends of the 95 % confidence interval of the median are within\n"                                  \
     "        this share of the median", NULL},                                                                        \
    {"max-seconds-per-point", FC_REAL, &(rule).max_seconds, 1e-6, 86400.0,                                             \
     "seconds after which a point ends without that (but not before 8 samples);\n"                                     \
     "        no point ends before a fifth of it, to see slow disturbances too", NULL},                                \
    {"min-samples", FC_COUNT, &(rule).min_samples, FC_FEWEST_SAMPLES, 1e6,                                             \
     "samples before the interval is trusted", NULL},                                                                  \
    {"warmup", FC_COUNT, &(rule).warmup, 0, 1e6,                                                                       \
     "repetitions before the first sample of a point, at most a quarter of the cap", NULL},                            \
    {"min-batch", FC_REAL, &(rule).min_batch, 0.0, 1.0,                                                                \
     "least seconds of a sample; 0 where nothing disturbs, as in a simulator", NULL}

/* The paragraph of --help on sampling; `batch` names what is repeated. */
#define FC_SAMPLING_METHOD(batch)                                                                                      \
    "Sampling: a sample is the mean of a batch of " batch " that lasts at\n"                                           \
    "least 0.2 ms and 100 steps of the clock (MPI_Wtime). A row has the median of the samples\n"                       \
    "and its 95 % confidence interval from order statistics, the number of samples and why\n"                          \
    "sampling stopped: `ci`, the interval is narrow enough, or `cap`, the time was up. After\n"                        \
    "each point the data received are compared with those sent. Times are in microseconds.\n"
/* clang-format on */

/*
 * What is measured. The function is called on all ranks with the same number of repetitions; on rank 0 it returns the
 * seconds they took. Rank 0 enters it after all other ranks are about to.
 */
struct fc_subject {
    double (*repeat)(const void *data, unsigned long long repetitions);
    const void *data;            /* for the function; it may hold pointers to buffers to write */
    double operations;           /* per repetition: a sample is the time of one operation */
    unsigned long long repeated; /* on rank 0: repetitions so far */
};

/* Returns the seconds that a sample has to last for the clock to resolve it and interrupts not to spoil it. */
double fc_wanted_batch(const struct fc_rule *rule);

/* Rank 0 only: has all ranks do a batch; returns the seconds it took. */
double fc_batch(const struct fc_world *world, struct fc_subject *subject, unsigned long long repetitions);

/* Ranks other than 0: do the one batch, or all batches, that rank 0 announces. */
void fc_follow_batch(const struct fc_world *world, const struct fc_subject *subject);
void fc_follow(const struct fc_world *world, const struct fc_subject *subject);

/*
 * Collective: measures one point. Rank 0 decides alone, between two batches, and gets the result; the samples of the
 * point remain in `samples`.
 */
struct fc_result fc_measure(const struct fc_world *world, const struct fc_rule *rule, struct fc_subject *subject,
                            struct fc_samples *samples);

/* Writes one line a sample, `WHAT sample_us`; nothing without a file. */
void fc_write_raw(FILE *raw, const char *what, const struct fc_samples *samples);

/* Rank 0 only: prints the columns of one result, in microseconds. */
void fc_print_result(const struct fc_world *world, const struct fc_result *result);

#endif
