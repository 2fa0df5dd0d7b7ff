// SPDX-License-Identifier: BSD-3-Clause
/*
 * Overlap of a transfer with work, by the post-work-wait method of SAND2005-5199, section 5: a transfer is posted, work
 * is done, and then the end of the transfer is awaited. The work that the transfer leaves room for is searched for.
 *
 * The work is a number of iterations and not a time: work that messaging slows down takes longer, and that is overhead
 * too.
 */
#ifndef OVERLAP_H
#define OVERLAP_H

#include "sweep.h"

struct fc_work {
    unsigned long long iterations;
    unsigned long long test_every; /* iterations from one MPI_Test to the next; 0: none */
    bool alone;                    /* the work is timed by itself: nothing is posted */
};

/* Does the work; tests the first request that is not complete after every `test_every` iterations. */
void fc_do_work(const struct fc_work *work, MPI_Request *requests, int count);

struct fc_transfer {
    const char *name; /* prefix of its columns */
    const void *data; /* for the functions */
    /* On all ranks: repeats post, work and wait; on rank 0 it returns the seconds they took. */
    double (*repeat)(const void *data, const struct fc_work *work, unsigned long long repetitions);
    void (*prepare)(const void *data); /* the buffers, before the search */
    void (*verify)(const void *data);  /* collective: ends the program if what arrived is wrong */
};

struct fc_search_plan {
    double knee_share;    /* a transfer longer than nominal by more than this share is lengthened */
    size_t max_steps;     /* most works that are tried */
    bool poll;            /* call MPI_Test in the work ... */
    double poll_interval; /* ... every so many microseconds */
};

struct fc_overlap_plan {
    struct fc_sweep sweep;
    struct fc_search_plan search;
};

/* A search has about 9 steps: they are shorter than the points of other programs. */
#define FC_OVERLAP_DEFAULTS(min_size, max_size)                                                                        \
    {{min_size, max_size, {0.05, 0.05, 10, 3, FC_LEAST_BATCH, 0.0}, NULL}, {0.05, 40, false, 10.0}}

/* clang-format off */
/* The rows of an option table that set a plan. */
#define FC_OVERLAP_OPTIONS(plan, least, transfer)                                                                      \
    FC_SIZE_OPTIONS((plan).sweep, least, ""),                                                                          \
    {"knee-share", FC_REAL, &(plan).search.knee_share, 0.001, 1.0,                                                     \
     "the work ends to fit when the transfer takes longer than nominal by more than\n"                                 \
     "        this share", NULL},                                                                                      \
    {"max-steps", FC_COUNT, &(plan).search.max_steps, 3, 1000,                                                         \
     "most works tried in a search, which then stops with `cap`", NULL},                                               \
    {"poll", FC_FLAG, &(plan).search.poll, 0, 0, "call MPI_Test in the work", NULL},                                   \
    {"poll-interval", FC_REAL, &(plan).search.poll_interval, 0.01, 1e6,                                                \
     "microseconds of work from one MPI_Test to the next, with --poll", NULL},                                         \
    FC_SAMPLING_OPTIONS((plan).sweep, "size " transfer " part iterations sample_us`, part `transfer` or `work")

#define FC_OVERLAP_COLUMNS(name)                                                                                       \
    " " name "_nominal_us " name "_overhead_us " name "_overhead_ci_low_us " name "_overhead_ci_high_us "              \
    name "_availability_percent " name "_work_us " name "_steps " name "_stop"
/* clang-format on */

/* The paragraphs of --help on the method. */
#define FC_OVERLAP_METHOD                                                                                              \
    "Work: iterations of a loop that reads the clock (MPI_Wtime) and adds. It is a number of\n"                        \
    "iterations, not a time, so work that messaging slows down counts as overhead. It uses no\n"                       \
    "memory: a shortage of memory bandwidth is not seen. With --poll the work calls MPI_Test;\n"                       \
    "without it, only hardware or a progress thread can move messages meanwhile.\n"                                    \
    "\n"                                                                                                               \
    "Search: nominal is the time without work. The work at which the transfer begins to be\n"                          \
    "lengthened, which is to take longer than nominal by more than --knee-share, lies between\n"                       \
    "none and one so long that it cannot fit. This bracket is bisected until it is narrower\n"                         \
    "than 1 % of nominal or one iteration. In each step the transfer without work, the transfer\n"                     \
    "with work and the work alone are sampled in turns, so that a drift of the machine is in\n"                        \
    "all of them, until the 95 % confidence intervals of nominal and of the overhead are within\n"                     \
    "--ci-share of nominal or --max-seconds-per-point are over. The upper end of the bracket is\n"                     \
    "then measured again, for up to five times as long, and gives the values. If the transfer\n"                       \
    "is not lengthened by at least half of --knee-share there, or not beyond its confidence\n"                         \
    "interval, or hardly grows when a quarter of nominal is added to the work, a disturbance\n"                        \
    "had misled the search, which goes on above.\n"                                                                    \
    "Stop reasons:\n"                                                                                                  \
    "  knee  the bracket is closed\n"                                                                                  \
    "  none  the smallest work lengthens the transfer: no overlap, overhead = nominal\n"                               \
    "  cap   --max-steps was reached, or a disturbed search was to go on when it had lasted\n"                         \
    "        40 x --max-seconds-per-point; the values are those of the bracket's upper end,\n"                         \
    "        where too much work does no harm, and are good if their interval is narrow\n"                             \
    "\n"                                                                                                               \
    "Overhead (effective latency): the time of the transfer with that work, less the time of\n"                        \
    "the work alone; the median of the differences of neighbouring samples. This is the\n"                             \
    "report's nominal time less work time without the knee share, which would bias it. A\n"                            \
    "value below one step of the clock is given as one step.\n"                                                        \
    "Host availability: 100 (1 - overhead / nominal) percent, 0 if the overhead exceeds it.\n"

/* What is sampled: the transfer without work and with it, the work, and the excess of the transfer over the work. */
enum fc_series { FC_NOMINAL, FC_TRANSFER, FC_WORK, FC_EXCESS, FC_SERIES };

/* The search for one size and one transfer; the same on all ranks but for what only rank 0 knows. */
struct fc_search {
    const struct fc_world *world;
    struct fc_rule rule;
    const struct fc_search_plan *plan;
    bool gives_osu_overlap; /* a column more for each transfer */
    struct fc_transfer transfer;
    size_t size;
    FILE *raw;        /* NULL: samples are not written to a file */
    double iteration; /* rank 0: seconds that one iteration of the work takes */
    double nominal;   /* rank 0: seconds of a transfer without work, measured last */
    size_t steps;     /* rank 0: works tried so far */
    struct fc_samples samples[FC_SERIES];
};

/*
 * Collective: times one iteration of the work, which is done alone with `idle`, opens the file of --raw, and prints the
 * head down to the lines on the work.
 */
struct fc_search fc_begin_search(const struct fc_world *world, const struct fc_overlap_plan *plan,
                                 struct fc_transfer idle, const struct fc_option *options);

/* Collective: measures and prints a row for each size, which is stored in `size` before. Returns how many. */
size_t fc_measure_overlap(struct fc_search *search, const struct fc_sweep *sweep, const struct fc_transfer *transfers,
                          int count, size_t *size);

/* Collective, the last call of a program: returns its exit status. */
int fc_end_search(struct fc_search *search, size_t rows);

#endif
