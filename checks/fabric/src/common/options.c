// SPDX-License-Identifier: BSD-3-Clause
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ values */

/* Parses digits and, of a size, a suffix. */
static bool parse_whole(const char *text, bool is_size, size_t *value)
{
    static const char suffixes[] = "KMG";
    char *end = NULL;
    errno = 0;
    const unsigned long long number = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)*text) || errno != 0) { /* strtoull alone would accept "-1" and " 1" */
        return false;
    }
    unsigned shift = 0;
    if (is_size && *end != '\0') {
        const char *const suffix = strchr(suffixes, toupper((unsigned char)*end));
        if (suffix == NULL) {
            return false;
        }
        shift = 10 * (unsigned)(suffix - suffixes + 1);
        end++;
    }
    *value = (size_t)number << shift;
    return *end == '\0' && number <= SIZE_MAX >> shift;
}

/* Parses a plain decimal: strtod alone would accept "nan", "inf", " 1" and "0x1". */
static bool parse_real(const char *text, double *value)
{
    char *end = NULL;
    if (*text == '\0' || text[strspn(text, "0123456789.eE+-")] != '\0') {
        return false;
    }
    errno = 0;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && errno == 0 && isfinite(*value);
}

static bool parse_choice(const char *text, const char *const *choices, size_t *value)
{
    for (size_t i = 0; choices[i] != NULL; i++) {
        if (strcmp(choices[i], text) == 0) {
            *value = i;
            return true;
        }
    }
    return false;
}

/* Stores one value; returns false if it is not of the kind or not in the range. */
static bool set_option(const struct fc_option *option, const char *text)
{
    size_t whole = 0;
    double real = 0.0;
    switch (option->kind) {
    case FC_FLAG: *(bool *)option->target = true; return true;
    case FC_CHOICE: return parse_choice(text, option->choices, option->target);
    case FC_TEXT: *(const char **)option->target = text; return *text != '\0';
    case FC_REAL:
        if (!parse_real(text, &real) || real < option->low || real > option->high) {
            return false;
        }
        *(double *)option->target = real;
        return true;
    case FC_SIZE:
    case FC_COUNT:
    default:
        if (!parse_whole(text, option->kind == FC_SIZE, &whole) || (double)whole < option->low ||
            (double)whole > option->high) {
            return false;
        }
        *(size_t *)option->target = whole;
        return true;
    }
}

/* Formats the words of a choice as `a, b, c`; cuts them if they do not fit. */
static void list_choices(const char *const *choices, char *text, size_t capacity)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; choices[i] != NULL && used < capacity; i++) {
        const int more = snprintf(text + used, capacity - used, "%s%s", i == 0 ? "" : ", ", choices[i]);
        used += more < 0 ? capacity : (size_t)more;
    }
}

static _Noreturn void refuse_value(const struct fc_world *world, const struct fc_option *option, const char *text)
{
    if (option->kind == FC_TEXT) {
        fc_usage_error(world, "option --%s needs a value that is not empty; see --help", option->name);
    }
    if (option->kind == FC_CHOICE) {
        char words[200];
        list_choices(option->choices, words, sizeof words);
        fc_usage_error(world, "option --%s: bad value '%.80s'; give one of %s", option->name, text, words);
    }
    const char *const kind = option->kind == FC_SIZE    ? "bytes (a suffix K, M or G is allowed)"
                             : option->kind == FC_COUNT ? "(a whole number)"
                                                        : "(a decimal number)";
    fc_usage_error(world, "option --%s: bad value '%.80s'; give %.10g to %.10g %s", option->name, text, option->low,
                   option->high, kind);
}

/* ----------------------------------------------------------------- parsing */

enum { most_options = 32 };

void fc_parse_options(const struct fc_world *world, int argc, char **argv, const struct fc_option *options)
{
    struct option table[most_options + 1];
    int count = 0;
    memset(table, 0, sizeof table);
    for (; options[count].name != NULL && count < most_options; count++) {
        const int has_value = options[count].kind == FC_FLAG ? no_argument : required_argument;
        table[count] = (struct option){options[count].name, has_value, NULL, count + 1};
    }
    optind = 0; /* begins anew: where a simulator runs all ranks in one process, they share the C library's state */
    opterr = 0;
    int number = 0;
    while ((number = getopt_long(argc, argv, ":", table, NULL)) > 0 && number <= count) {
        const struct fc_option *const option = &options[number - 1];
        if (!set_option(option, optarg)) {
            refuse_value(world, option, optarg);
        }
    }
    if (number == ':') {
        fc_usage_error(world, "option %.80s needs a value; see --help", argv[optind - 1]);
    }
    if (number != -1 && optopt > 0 && optopt <= count) {
        fc_usage_error(world, "option --%s takes no value", options[optopt - 1].name);
    }
    if (number != -1 && optopt > 0) {
        fc_usage_error(world, "unknown option '-%c'; see --help", optopt);
    }
    if (number != -1) {
        fc_usage_error(world, "unknown option '%.80s'; see --help", argv[optind - 1]);
    }
    if (optind < argc) {
        fc_usage_error(world, "unexpected argument '%.80s'; see --help", argv[optind]);
    }
}

/* ---------------------------------------------------------------- printing */

/* Sets the text of an option's value. */
static void write_value(const struct fc_option *option, char *text, size_t capacity)
{
    const char *word = NULL;
    switch (option->kind) {
    case FC_TEXT:
        word = *(const char *const *)option->target;
        snprintf(text, capacity, "%s", word == NULL ? "none" : word);
        break;
    case FC_REAL: snprintf(text, capacity, "%.10g", *(const double *)option->target); break;
    case FC_FLAG: snprintf(text, capacity, "%s", *(const bool *)option->target ? "yes" : "no"); break;
    case FC_CHOICE: snprintf(text, capacity, "%s", option->choices[*(const size_t *)option->target]); break;
    case FC_SIZE:
    case FC_COUNT:
    default: snprintf(text, capacity, "%zu", *(const size_t *)option->target); break;
    }
}

void fc_print_options(const struct fc_world *world, const struct fc_option *options)
{
    fc_print(world, "# options:");
    for (; options->name != NULL; options++) {
        if (options->kind != FC_TEXT) {
            char value[100];
            write_value(options, value, sizeof value);
            fc_print(world, " %s %s", options->name, value);
        }
    }
    fc_print(world, "\n");
}

static void print_help(const char *method, const struct fc_option *options)
{
    static const char *const placeholder[] = {[FC_SIZE] = " SIZE", [FC_COUNT] = " N",     [FC_REAL] = " X",
                                              [FC_FLAG] = "",      [FC_CHOICE] = " WORD", [FC_TEXT] = " FILE"};
    const bool has_options = options->name != NULL;
    printf("%s\nOptions:\n", method);
    for (; options->name != NULL; options++) {
        printf("  --%s%s\n        %s", options->name, placeholder[options->kind], options->help);
        if (options->kind == FC_CHOICE) {
            char words[200];
            list_choices(options->choices, words, sizeof words);
            printf(": %s", words);
        }
        char value[100];
        write_value(options, value, sizeof value);
        printf("; default %s\n", value);
    }
    printf("  --help\n        print this text and exit\n  --version\n        print name and version and exit\n");
    printf("The last line of the output has the number of rows and the CRC-32 of all bytes above it.\n");
    if (has_options) {
        printf("A SIZE is in bytes; K, M and G stand for 1024, 1024^2 and 1024^3 bytes.\n");
    }
}

/* Returns whether the launcher made this process rank 0, as far as the environment shows. */
static bool is_launched_first(void)
{
    static const char *const names[] = {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *const value = getenv(names[i]);
        if (value != NULL) {
            return strcmp(value, "0") == 0;
        }
    }
    return true;
}

void fc_answer_help(int argc, char **argv, const char *method, const struct fc_option *options)
{
    for (int i = 1; i < argc; i++) {
        const bool help = strcmp(argv[i], "--help") == 0;
        if (!help && strcmp(argv[i], "--version") != 0) {
            continue;
        }
        if (is_launched_first() && help) {
            print_help(method, options);
        } else if (is_launched_first()) {
            printf("fabric-checks %s %s\n", fc_program, FC_FORMAT);
        }
        if (fc_flush_failed(stdout)) {
            fprintf(stderr, "%s: cannot write to standard output: %s\n", fc_program, strerror(errno));
            exit(FC_EXIT_FAILURE);
        }
        exit(EXIT_SUCCESS);
    }
}
