// SPDX-License-Identifier: BSD-3-Clause
/*
 * The command line: a table of options, read, checked, printed and explained by --help.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "errors.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>

#define FC_FORMAT "1" /* number of the output format, raised when columns change meaning */

enum fc_kind {
    FC_SIZE,   /* size_t, bytes: digits and an optional K, M or G (powers of 1024) */
    FC_COUNT,  /* size_t, a whole number */
    FC_REAL,   /* double */
    FC_FLAG,   /* bool: given or not, takes no value */
    FC_CHOICE, /* size_t, the position of a word in `choices` */
    FC_TEXT    /* const char *, not part of the `# options:` line */
};

struct fc_option {
    const char *name; /* without the leading dashes */
    enum fc_kind kind;
    void *target; /* holds the default before parsing */
    double low;   /* least and greatest value allowed */
    double high;
    const char *help;           /* one line, with the unit */
    const char *const *choices; /* of FC_CHOICE: the words, NULL after the last; else NULL */
};

/* Reads digits and moves on behind them; false if there are none, or too many for a size_t. */
static inline bool fc_parse_digits(const char **text, size_t *value)
{
    const char *at = *text;
    size_t sum = 0;
    if (*at < '0' || *at > '9') {
        return false;
    }
    for (; *at >= '0' && *at <= '9'; at++) {
        const size_t digit = (size_t)(*at - '0');
        if (sum > (SIZE_MAX - digit) / 10) {
            return false;
        }
        sum = sum * 10 + digit;
    }
    *text = at;
    *value = sum;
    return true;
}

static inline bool fc_parse_count(const char *text, size_t *value)
{
    return fc_parse_digits(&text, value) && *text == '\0';
}

static inline bool fc_parse_size(const char *text, size_t *value)
{
    size_t number = 0;
    if (!fc_parse_digits(&text, &number)) {
        return false;
    }
    unsigned shift = 0;
    switch (*text) {
    case 'K': case 'k': shift = 10; break;
    case 'M': case 'm': shift = 20; break;
    case 'G': case 'g': shift = 30; break;
    default: break;
    }
    if (shift != 0) {
        text++;
    }
    if (*text != '\0' || number > SIZE_MAX >> shift) {
        return false;
    }
    *value = number << shift;
    return true;
}

/* Plain decimals only: strtod alone would let "nan", "inf", " 1" and "0x1" in. */
static inline bool fc_parse_real(const char *text, double *value)
{
    char *end = NULL;
    if (*text == '\0' || text[strspn(text, "0123456789.eE+-")] != '\0') {
        return false;
    }
    errno = 0;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && errno == 0 && isfinite(*value);
}

static inline bool fc_parse_choice(const char *text, const char *const *choices, size_t *value)
{
    for (size_t i = 0; choices[i] != NULL; i++) {
        if (strcmp(choices[i], text) == 0) {
            *value = i;
            return true;
        }
    }
    return false;
}

/* Stores one value; false if it is not of the kind or not in the range. */
static inline bool fc_set_option(const struct fc_option *option, const char *text)
{
    size_t whole = 0;
    double real = 0.0;
    switch (option->kind) {
    case FC_FLAG:
        *(bool *)option->target = true;
        return true;
    case FC_CHOICE:
        return fc_parse_choice(text, option->choices, option->target);
    case FC_TEXT:
        if (*text == '\0') {
            return false;
        }
        *(const char **)option->target = text;
        return true;
    case FC_REAL:
        if (!fc_parse_real(text, &real) || !(real >= option->low && real <= option->high)) {
            return false;
        }
        *(double *)option->target = real;
        return true;
    case FC_SIZE:
    case FC_COUNT:
    default:
        if (!(option->kind == FC_SIZE ? fc_parse_size(text, &whole)
                                      : fc_parse_count(text, &whole)) ||
            !((double)whole >= option->low && (double)whole <= option->high)) {
            return false;
        }
        *(size_t *)option->target = whole;
        return true;
    }
}

/* The words of a choice as `a, b, c`; cut if they do not fit. */
static inline void fc_list_choices(const char *const *choices, char *text, size_t capacity)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; choices[i] != NULL && used < capacity; i++) {
        const int more =
            snprintf(text + used, capacity - used, "%s%s", i == 0 ? "" : ", ", choices[i]);
        used += more < 0 ? capacity : (size_t)more;
    }
}

static inline _Noreturn void fc_bad_value(const struct fc_world *world,
                                          const struct fc_option *option, const char *text)
{
    if (option->kind == FC_TEXT) {
        fc_usage_error(world, "option --%s needs a value that is not empty; see --help",
                       option->name);
    }
    if (option->kind == FC_CHOICE) {
        char words[200];
        fc_list_choices(option->choices, words, sizeof words);
        fc_usage_error(world, "option --%s: bad value '%.80s'; give one of %s", option->name, text,
                       words);
    }
    const char *const kind = option->kind == FC_SIZE    ? "bytes (a suffix K, M or G is allowed)"
                             : option->kind == FC_COUNT ? "(a whole number)"
                                                        : "(a decimal number)";
    fc_usage_error(world, "option --%s: bad value '%.80s'; give %.10g to %.10g %s", option->name,
                   text, option->low, option->high, kind);
}

static inline const struct fc_option *fc_find_option(const struct fc_option *options, size_t count,
                                                     const char *name, size_t length)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(options[i].name) == length && memcmp(options[i].name, name, length) == 0) {
            return &options[i];
        }
    }
    return NULL;
}

/*
 * Reads `--name value` and `--name=value` into the targets of the table. All
 * ranks have the same command line, so all of them find the same error.
 */
static inline void fc_parse_options(const struct fc_world *world, int argc, char **argv,
                                    const struct fc_option *options, size_t count)
{
    for (int i = 1; i < argc; i++) {
        const char *const argument = argv[i];
        if (strncmp(argument, "--", 2) != 0) {
            fc_usage_error(world, "unexpected argument '%.80s'; see --help", argument);
        }
        const char *const name = argument + 2;
        const size_t length = strcspn(name, "=");
        const struct fc_option *const option = fc_find_option(options, count, name, length);
        if (option == NULL) {
            fc_usage_error(world, "unknown option '%.80s'; see --help", argument);
        }
        const char *value = name[length] == '=' ? name + length + 1 : NULL;
        if (option->kind == FC_FLAG) {
            if (value != NULL) {
                fc_usage_error(world, "option --%s takes no value", option->name);
            }
            value = "";
        } else if (value == NULL) {
            if (++i >= argc) {
                fc_usage_error(world, "option --%s needs a value; see --help", option->name);
            }
            value = argv[i];
        }
        if (!fc_set_option(option, value)) {
            fc_bad_value(world, option, value);
        }
    }
}

static inline void fc_print_value(const struct fc_option *option)
{
    switch (option->kind) {
    case FC_TEXT: {
        const char *const text = *(const char *const *)option->target;
        printf("%s", text == NULL ? "none" : text);
        break;
    }
    case FC_REAL: printf("%.10g", *(const double *)option->target); break;
    case FC_FLAG: printf("%s", *(const bool *)option->target ? "yes" : "no"); break;
    case FC_CHOICE: printf("%s", option->choices[*(const size_t *)option->target]); break;
    case FC_SIZE:
    case FC_COUNT:
    default: printf("%zu", *(const size_t *)option->target); break;
    }
}

/* The line that repeats the options, so that a result file explains itself. */
static inline void fc_print_options(const struct fc_option *options, size_t count)
{
    printf("# options:");
    for (size_t i = 0; i < count; i++) {
        if (options[i].kind != FC_TEXT) {
            printf(" %s ", options[i].name);
            fc_print_value(&options[i]);
        }
    }
    printf("\n");
}

/* The text of --help; `method` tells what is measured, and how. */
static inline void fc_print_help(const char *method, const struct fc_option *options, size_t count)
{
    static const char *const placeholder[] = {
        [FC_SIZE] = " SIZE", [FC_COUNT] = " N", [FC_REAL] = " X",
        [FC_FLAG] = "", [FC_CHOICE] = " WORD", [FC_TEXT] = " FILE"};
    printf("%s\nOptions:\n", method);
    for (size_t i = 0; i < count; i++) {
        printf("  --%s%s\n        %s", options[i].name, placeholder[options[i].kind],
               options[i].help);
        if (options[i].kind == FC_CHOICE) {
            char words[200];
            fc_list_choices(options[i].choices, words, sizeof words);
            printf(": %s", words);
        }
        printf("; default ");
        fc_print_value(&options[i]);
        printf("\n");
    }
    printf("  --help\n        print this text and exit\n"
           "  --version\n        print name and version and exit\n");
    if (count > 0) {
        printf("A SIZE is in bytes; K, M and G stand for 1024, 1024^2 and 1024^3 bytes.\n");
    }
}

/*
 * The rank the launcher gave to this process, as far as the environment tells:
 * help is printed without MPI_Init, which may need a launcher to succeed.
 */
static inline bool fc_launched_as_first(void)
{
    static const char *const names[] = {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK",
                                        "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *const value = getenv(names[i]);
        if (value != NULL) {
            return strcmp(value, "0") == 0;
        }
    }
    return true;
}

static inline _Noreturn void fc_exit_after_text(void)
{
    if (fc_flush_failed(stdout)) {
        fprintf(stderr, "%s: cannot write to standard output: %s\n", FC_PROGRAM, strerror(errno));
        exit(FC_EXIT_FAILURE);
    }
    exit(EXIT_SUCCESS);
}

/* Answers --help and --version without MPI and exits. */
static inline void fc_answer_help(int argc, char **argv, const char *method,
                                  const struct fc_option *options, size_t count)
{
    for (int i = 1; i < argc; i++) {
        const bool help = strcmp(argv[i], "--help") == 0;
        if (!help && strcmp(argv[i], "--version") != 0) {
            continue;
        }
        if (fc_launched_as_first()) {
            if (help) {
                fc_print_help(method, options, count);
            } else {
                printf("fabric-checks %s %s\n", FC_PROGRAM, FC_FORMAT);
            }
        }
        fc_exit_after_text();
    }
}

#endif
