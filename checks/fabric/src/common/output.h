// SPDX-License-Identifier: BSD-3-Clause
/*
 * Standard output, one form for all programs: `# key: value` lines, `# columns: ...`, rows of blank-separated cells,
 * perhaps more `# key: value` lines, and a last line with the number of rows and the CRC-32 of all bytes above it, so
 * that whoever reads it knows that nothing is missing and nothing was changed.
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include "errors.h"

/* Rank 0 only: prints a line, or a part of one, of less than 4 KiB. No line may end with a blank. */
FC_PRINTF(2, 3) void fc_print(const struct fc_world *world, const char *format, ...);

/* Rank 0 only: prints a text of any length. */
void fc_print_text(const struct fc_world *world, const char *text);

/* Rank 0 only: prints the last line. */
void fc_print_end(const struct fc_world *world, size_t rows);

#endif
