// SPDX-License-Identifier: BSD-3-Clause
/*
 * The functions of MPI that the library puts before those of the next one.
 */
#include "profile.h"
#include "trace.h"

#ifndef SMPI_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* ------------------------------------------------------------------ around a call */

/* An MPI may call itself by its public names; only the program's own calls count. */
static _Thread_local int depth __attribute__((tls_model("initial-exec")));

/* Begins a call; returns whether it counts. */
static bool entered(void)
{
    const bool is_counted = ++depth == 1 && p.is_on && !p.is_paused;
    if (is_counted) {
        trace_enters();
    }
    return is_counted;
}

static void left(bool is_counted)
{
    if (is_counted) {
        trace_leaves();
    }
    depth--;
}

/* Returns the next library's function of a name, which is MPI's unless there is another tool. */
static void *next_of(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (found == NULL) {
        fprintf(stderr, "profile: there is no %s behind this library\n", name);
        abort();
    }
    return found;
}

#define EXPORT __attribute__((visibility("default")))
/* The name behind a macro. */
#define TEXT(name) TEXT_OF(name)
#define TEXT_OF(name) #name

/* A function of MPI: `before` is done if the call counts, `after` if it has then ended well, and has its time in ns. */
#define FUNCTION(symbol, parameters, arguments, before, after)                                                         \
    EXPORT int symbol parameters                                                                                       \
    {                                                                                                                  \
        static int(*next) parameters;                                                                                  \
        if (next == NULL) {                                                                                            \
            *(void **)&next = next_of(TEXT(symbol)); /* as POSIX has it for functions */                               \
        }                                                                                                              \
        const bool is_counted = entered();                                                                             \
        if (is_counted) {                                                                                              \
            before;                                                                                                    \
        }                                                                                                              \
        const int64_t began = is_counted ? now_ns(CLOCK_MONOTONIC) : 0;                                                \
        const int code = next arguments;                                                                               \
        const int64_t ns = is_counted ? now_ns(CLOCK_MONOTONIC) - began : 0;                                           \
        if (is_counted && code == MPI_SUCCESS) {                                                                       \
            locked();                                                                                                  \
            after;                                                                                                     \
            unlocked();                                                                                                \
        }                                                                                                              \
        left(is_counted);                                                                                              \
        return code;                                                                                                   \
    }

/* ------------------------------------------------------------------ the calls of the table */

/* Statements on a call, with `at` for the call itself. */
#define NOTED(number, request, noted, traced)                                                                          \
    const struct at here = {.call = number, .ns = ns, .made = request};                                                \
    const struct at *const at = &here;                                                                                 \
    noted;                                                                                                             \
    if (is_traced()) {                                                                                                 \
        traced;                                                                                                        \
    }

#define COUNTED(name, parameters, arguments, before, noted, traced)                                                    \
    FUNCTION(SYMBOL(name), parameters, arguments, before, NOTED(call_##name, NULL, noted, traced))
#define TRACED(name, parameters, arguments, noted, traced) COUNTED(name, parameters, arguments, (void)0, noted, traced)
#define CALL(name, parameters, arguments, noted) TRACED(name, parameters, arguments, noted, cannot(at))

#define TAKEN(requests, count, status, ignored)                                                                        \
    if (is_traced()) {                                                                                                 \
        MPI_Status *const spare = take(count, requests);                                                               \
        (status) = spare != NULL && (status) == (ignored) ? spare : (status);                                          \
    }
#define COMPLETES(name, parameters, arguments, requests, count, status, ignored, noted, traced)                        \
    COUNTED(name, parameters, arguments, TAKEN(requests, count, status, ignored), noted, traced)

#define MADE_REQUEST(number, started_as, noted, traced)                                                                \
    struct started *made = calloc(1, sizeof *made);                                                                    \
    if (made != NULL) {                                                                                                \
        made->partner = -1;                                                                                            \
        NOTED(number, made, noted; keep_request(made, *request, started_as), traced)                                   \
    }
#define TRACED_PERSISTENT(name, start, parameters, arguments, noted, traced)                                           \
    FUNCTION(SYMBOL(name), parameters, arguments, (void)0, MADE_REQUEST(call_##name, call_##start, noted, traced))
#define PERSISTENT(name, start, parameters, arguments, noted)                                                          \
    TRACED_PERSISTENT(name, start, parameters, arguments, noted, cannot(at))

/* A parameter list with what the later forms add. */
#define WITH_REQUEST(...) (__VA_ARGS__, MPI_Request * request)
#define WITH_INFO(...) (__VA_ARGS__, MPI_Info info, MPI_Request * request)
#define AND_REQUEST(...) (__VA_ARGS__, request)
#define AND_INFO(...) (__VA_ARGS__, info, request)

#define BLOCKING_AND_NOT(name, lower, parameters, arguments, noted, traced)                                            \
    TRACED(name, parameters, arguments, noted, traced)                                                                 \
    CALL(I##lower, WITH_REQUEST parameters, AND_REQUEST arguments, noted)
#if HAS_MPI_4
#define TRACED_COLLECTIVE(name, lower, parameters, arguments, noted, traced)                                           \
    BLOCKING_AND_NOT(name, lower, parameters, arguments, noted, traced)                                                \
    PERSISTENT(name##_init, name##_start, WITH_INFO parameters, AND_INFO arguments, noted)
#else
#define TRACED_COLLECTIVE BLOCKING_AND_NOT
#endif
#define COLLECTIVE(name, lower, parameters, arguments, noted)                                                          \
    TRACED_COLLECTIVE(name, lower, parameters, arguments, noted, cannot(at))

#define SYMBOL(name) MPI_##name
#include "calls.h"
#undef SYMBOL

#if HAS_COUNTS
#undef ONCE
#undef COUNT
#undef DISPL
#define COUNT MPI_Count
#define DISPL MPI_Aint
#define SYMBOL(name) MPI_##name##_c
#include "calls.h"
#undef SYMBOL
#endif

/* ------------------------------------------------------------------ starts of persistent requests */

/* Each of them is counted, with its part of the time. */
static void count_starts(int n, const MPI_Request requests[], enum call call, int64_t ns)
{
    for (int i = 0; i < n; i++) {
        count_start(requests[i], call, ns / n);
        traced_start(requests[i], call);
    }
}

FUNCTION(MPI_Start, (MPI_Request * request), (request), (void)0, count_starts(1, request, call_Start, ns))
FUNCTION(MPI_Startall, (int n, MPI_Request requests[]), (n, requests), (void)0,
         count_starts(n, requests, call_Startall, ns))

/* ------------------------------------------------------------------ what is forgotten */

static void forget_both(MPI_Request handle)
{
    traced_free(handle);
    forget_request(handle);
}

/* A function that does something before and after the next one, whether calls are counted or not. */
#define PASSED_ON(name, parameters, arguments, before, after)                                                          \
    EXPORT int MPI_##name parameters                                                                                   \
    {                                                                                                                  \
        int(*next) parameters;                                                                                         \
        *(void **)&next = next_of("MPI_" #name);                                                                       \
        depth++;                                                                                                       \
        before;                                                                                                        \
        const int code = next arguments;                                                                               \
        after;                                                                                                         \
        depth--;                                                                                                       \
        return code;                                                                                                   \
    }
#define FORGETTING(forget) locked(), forget(*handle), unlocked()
PASSED_ON(Comm_free, (MPI_Comm * handle), (handle), FORGETTING(forget_comm), (void)0)
PASSED_ON(Comm_disconnect, (MPI_Comm * handle), (handle), FORGETTING(forget_comm), (void)0)
PASSED_ON(Request_free, (MPI_Request * handle), (handle), FORGETTING(forget_both), (void)0)

/* ------------------------------------------------------------------ begin, pause and end */

static void begin(int code)
{
    if (code == MPI_SUCCESS) {
        begin_profile();
    }
}

static void end(void)
{
    if (p.is_on) {
        if (!p.is_paused) {
            trace_enters();
        }
        trace_is_whole();
        end_profile();
    }
}

PASSED_ON(Init, (int *argc, char ***argv), (argc, argv), (void)0, begin(code))
PASSED_ON(Init_thread, (int *argc, char ***argv, int required, int *provided), (argc, argv, required, provided),
          (void)0, begin(code))
PASSED_ON(Finalize, (void), (), end(), (void)0)

EXPORT int MPI_Pcontrol(const int level, ...)
{
    if (p.is_paused && level != 0) {
        trace_leaves(); /* what is computed in a pause is not part of the trace */
    }
    if (!p.is_paused && level == 0) {
        trace_enters();
    }
    p.is_paused = level == 0;
    return MPI_SUCCESS;
}

#endif
