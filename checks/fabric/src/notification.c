// SPDX-License-Identifier: BSD-3-Clause
/*
 * The cost of learning that a message has arrived: by MPI_Test in a loop, by MPI_Wait, and by a wait that sleeps where
 * the MPI offers one. After the notification overhead of Liu et al., Micro-Benchmark Level Performance Comparison of
 * High-Speed Cluster Interconnects (2003), which compared polling with interrupts.
 */
#include "common/points.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

const char fc_program[] = "notification";

static const char method[] =
    "notification: the cost of learning that a message has arrived. Run it on exactly two ranks,\n"
    "one per node to see the interconnect:\n"
    "  mpirun -np 2 notification\n"
    "\n"
    "Time: ping-pong in which both ranks post MPI_Irecv and then complete it either with MPI_Test\n"
    "in a loop (test) or with MPI_Wait (wait). Rank 0 posts the receive of the answer before it\n"
    "sends, rank 1 posts its next receive right after it has answered. Sends are MPI_Send. The\n"
    "time is half the round trip, for messages of 0 bytes and of the powers of two.\n"
    "\n"
    "CPU: rank 0 waits for an empty message that rank 1 sends --delay seconds after rank 0 has\n"
    "asked for it, --waits times by MPI_Test in a loop and as often by MPI_Wait. Rank 1 sleeps\n"
    "in between, so that it takes no CPU from rank 0. The share is the CPU time that all threads\n"
    "of rank 0's process used during the waits (getrusage), divided by the length of the waits.\n"
    "\n"
    "Sleeps: how often rank 0's thread slept in those waits, and in how many of them at all. A\n"
    "sleep is a voluntary context switch of the thread that waits (getrusage, RUSAGE_THREAD,\n"
    "ru_nvcsw): it asked the kernel to be woken later. To be preempted is none, and sched_yield is\n"
    "none: such a thread is ready to run all the time. The number shows what the MPI library asked\n"
    "for; other load of the machine changes the share of the CPU, but not that.\n"
    "\n"
    "Blocking wait: whether MPI_Wait polls or sleeps is decided before MPI starts, by settings that\n"
    "differ between MPI libraries. The header lists those that are set, and the result\n"
    "  offered  MPI_Wait slept in at least half of the waits: about once in each if it blocks until\n"
    "           the message comes, more often if it sleeps between looks. It may poll before and in\n"
    "           between: what that takes is the share of the CPU,\n"
    "  absent   MPI_Wait slept in none of the waits. One that polls for longer than --delay before\n"
    "           it sleeps looks like that too,\n"
    "  unknown  MPI_Wait slept in fewer than half of the waits: measure more of them (--waits) that\n"
    "           are longer (--delay). Or MPI_Wtime is not the time of this machine, as in a\n"
    "           simulation, which does not show CPU time and sleep.\n"
    "Where it is offered, the column wait is the cost of a wait that sleeps, to be compared with\n"
    "another run.\n"
    "\n" FC_SAMPLING_METHOD("round trips");

static const char method_line[] =
    "test and wait are half of a round trip in which an MPI_Irecv is completed by MPI_Test in a "
    "loop or by MPI_Wait" FC_SUMMARY;

static const char columns[] = "size_B" FC_MODE_COLUMNS("test") FC_MODE_COLUMNS("wait");

struct plan {
    struct fc_sweep sweep;
    size_t waits;
    double delay; /* seconds */
};

enum { tag_data = 1, tag_ask = 2, tag_late = 3 };

/* By MPI_Test in a loop if it polls, else by MPI_Wait. */
static void complete(MPI_Request *request, bool polls)
{
    int arrived = 0;
    if (!polls) {
        FC_MPI(MPI_Wait(request, MPI_STATUS_IGNORE));
        return;
    }
    while (!arrived) {
        FC_MPI(MPI_Test(request, &arrived, MPI_STATUS_IGNORE));
    }
}

/* --------------------------------------------------------------- ping-pong */

static double ping_pong(const struct fc_side *side, bool polls, unsigned long long repetitions)
{
    const MPI_Comm comm = side->world->comm;
    const int bytes = (int)side->size;
    const int partner = side->partner;
    const double begin = MPI_Wtime();
    for (unsigned long long i = 0; i < repetitions; i++) {
        MPI_Request request = MPI_REQUEST_NULL;
        FC_MPI(MPI_Irecv(side->receive, bytes, MPI_BYTE, partner, tag_data, comm, &request));
        if (side->world->rank == 0) {
            FC_MPI(MPI_Send(side->send, bytes, MPI_BYTE, partner, tag_data, comm));
            complete(&request, polls);
        } else {
            complete(&request, polls);
            FC_MPI(MPI_Send(side->send, bytes, MPI_BYTE, partner, tag_data, comm));
        }
    }
    return MPI_Wtime() - begin;
}

static double ping_pong_test(const void *data, unsigned long long repetitions)
{
    return ping_pong(data, true, repetitions);
}

static double ping_pong_wait(const void *data, unsigned long long repetitions)
{
    return ping_pong(data, false, repetitions);
}

/* ------------------------------------------------------ CPU while waiting */

/* What rank 0 used during one or more waits; all times in seconds. */
struct usage {
    double elapsed; /* by MPI_Wtime */
    double machine; /* by the clock of the machine */
    double cpu;
    long sleeps;  /* voluntary context switches of this thread */
    size_t slept; /* in how many waits there were any */
};

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

/*
 * timespec_get and not clock_gettime: a simulator replaces the latter by its own clock, and the point is to notice
 * that.
 */
static struct usage usage_now(void)
{
    struct rusage used;
    struct rusage thread; /* others of the process may sleep as they like */
    struct timespec machine = {0, 0};
    memset(&used, 0, sizeof used);
    memset(&thread, 0, sizeof thread);
    if (getrusage(RUSAGE_SELF, &used) != 0 || getrusage(RUSAGE_THREAD, &thread) != 0 ||
        timespec_get(&machine, TIME_UTC) != TIME_UTC) {
        fc_abort("cannot read the clock or what the process used: %s", strerror(errno));
    }
    return (struct usage){MPI_Wtime(), (double)machine.tv_sec + 1e-9 * (double)machine.tv_nsec,
                          seconds_of(used.ru_utime) + seconds_of(used.ru_stime), thread.ru_nvcsw, 0};
}

/* Sleeps, since the two ranks may have one CPU; what is left by then is spent in MPI_Wtime. */
static void pause_for(double seconds)
{
    const double begin = MPI_Wtime();
    const time_t whole = (time_t)seconds;
    const struct timespec length = {whole, (long)(1e9 * (seconds - (double)whole))};
    nanosleep(&length, NULL);
    while (MPI_Wtime() - begin < seconds) {
    }
}

static void wait_once(const struct fc_side *side, double delay, bool polls, struct usage *sum)
{
    if (side->world->rank != 0) {
        fc_await(side->world, side->partner, tag_ask);
        pause_for(delay);
        fc_signal(side->world, side->partner, tag_late);
        return;
    }
    MPI_Request request = MPI_REQUEST_NULL;
    FC_MPI(MPI_Irecv(NULL, 0, MPI_BYTE, side->partner, tag_late, side->world->comm, &request));
    fc_signal(side->world, side->partner, tag_ask);
    const struct usage before = usage_now();
    complete(&request, polls);
    const struct usage after = usage_now();
    sum->elapsed += after.elapsed - before.elapsed;
    sum->machine += after.machine - before.machine;
    sum->cpu += after.cpu - before.cpu;
    sum->sleeps += after.sleeps - before.sleeps;
    sum->slept += after.sleeps > before.sleeps ? 1 : 0;
}

/* Both ranks; the result is of use on rank 0. */
static struct usage use_while_waiting(const struct fc_side *side, const struct plan *plan, bool polls)
{
    struct usage sum = {0.0, 0.0, 0.0, 0, 0};
    for (size_t i = 0; i < plan->waits; i++) {
        wait_once(side, plan->delay, polls, &sum);
    }
    return sum;
}

/* Returns whether MPI_Wtime gives the time of the machine, within a tenth. */
static bool is_real(const struct usage *usage)
{
    const double difference = usage->machine - usage->elapsed;
    const double allowed = 0.1 * usage->elapsed;
    return usage->elapsed > 0.0 && difference <= allowed && -difference <= allowed;
}

static double percent_used(const struct usage *usage)
{
    return 100.0 * usage->cpu / usage->machine;
}

/* Settings by which MPI libraries let a wait yield, sleep or block. */
static void print_settings(const struct fc_world *world)
{
    static const char *const names[] = {"MPIR_CVAR_POLLS_BEFORE_YIELD",
                                        "MPIR_CVAR_ENABLE_HEAVY_YIELD",
                                        "MPIR_CVAR_CH4_PROGRESS_THROTTLE",
                                        "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT",
                                        "OMPI_MCA_mpi_yield_when_idle",
                                        "OMPI_MCA_threads_pthreads_yield_strategy",
                                        "OMPI_MCA_threads_pthreads_nanosleep_time",
                                        "I_MPI_WAIT_MODE",
                                        "I_MPI_THREAD_YIELD",
                                        "I_MPI_THREAD_SLEEP",
                                        "I_MPI_SPIN_COUNT",
                                        "I_MPI_PAUSE_COUNT",
                                        "MV2_USE_BLOCKING",
                                        "MV2_SPIN_COUNT",
                                        NULL};
    fc_print_settings(world, "wait settings", names, " none");
}

/* Whether MPI_Wait blocks, in the words of the method. */
static void print_blocking_wait(const struct fc_world *world, const struct usage *wait, size_t waits)
{
    const char *const verdict = wait->slept == 0 ? "absent" : (2 * wait->slept >= waits ? "offered" : "unknown");
    fc_print(
        world,
        "# blocking wait: %s: MPI_Wait slept in %zu of %zu waits of %.3g ms, %.3g times a wait, "
        "and used %.0f %% of a CPU\n",
        verdict, wait->slept, waits, 1e3 * wait->machine / (double)waits, (double)wait->sleeps / (double)waits,
        percent_used(wait));
}

/* Rank 0 only: the lines about the CPU and sleep. */
static void print_usage(const struct fc_world *world, const struct usage *test, const struct usage *wait, size_t waits)
{
    print_settings(world);
    if (!is_real(test) || !is_real(wait)) {
        fc_print(world,
                 "# cpu percent while waiting: unknown\n"
                 "# sleeps while waiting: unknown\n"
                 "# waits with sleep: unknown\n"
                 "# blocking wait: unknown: MPI_Wtime does not tell the time of this machine\n");
        return;
    }
    fc_print(world,
             "# cpu percent while waiting: test %.0f wait %.0f\n"
             "# sleeps while waiting: test %ld wait %ld\n"
             "# waits with sleep: test %zu wait %zu\n",
             percent_used(test), percent_used(wait), test->sleeps, wait->sleeps, test->slept, wait->slept);
    print_blocking_wait(world, wait, waits);
}

int main(int argc, char **argv)
{
    struct plan plan = {{0, (size_t)64 << 10, FC_RULE_DEFAULTS, NULL}, 20, 0.01};
    const struct fc_option options[] = {
        FC_SIZE_OPTIONS(plan.sweep, 0, ""),
        {"waits", FC_COUNT, &plan.waits, 1, 1e6, "waits over which CPU time and sleeps are summed", NULL},
        {"delay", FC_REAL, &plan.delay, 1e-3, 60.0, "length of each of them, seconds", NULL},
        FC_SAMPLING_OPTIONS(plan.sweep, "size mode sample_us"),
        FC_NO_MORE_OPTIONS,
    };
    const struct fc_world world = fc_start(argc, argv, method, options);
    fc_require_pair(&world);
    fc_require_sizes(&world, &plan.sweep, fc_next_power_of_two);
    struct fc_side side = fc_make_side(&world, plan.sweep.max_size);
    struct fc_rows rows = fc_begin_rows(&world, &plan.sweep, options);
    const struct usage test = use_while_waiting(&side, &plan, true);
    const struct usage wait = use_while_waiting(&side, &plan, false);
    if (world.rank == 0) {
        print_usage(&world, &test, &wait, plan.waits);
    }
    fc_end_head(&world, method_line, columns);
    const struct fc_mode modes[] = {{"test", ping_pong_test, 2.0, 1, side.partner, 2},
                                    {"wait", ping_pong_wait, 2.0, 1, side.partner, 2}};
    fc_measure_sizes(&rows, &plan.sweep, fc_next_power_of_two, &side, &side, modes, 2);
    fc_free_side(&side);
    return fc_end_rows(&rows);
}
