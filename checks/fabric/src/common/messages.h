// SPDX-License-Identifier: BSD-3-Clause
/* Memory for messages, data that show what became of them, and empty messages as signals. */
#ifndef MESSAGES_H
#define MESSAGES_H

#include "errors.h"

/* ------------------------------------------------------------------ memory */

/*
 * Collective, before the buffers are allocated: ends the program if the ranks of a host need more than it has. With
 * overcommitment the kernel grants any amount and kills a rank later, when the pages are touched.
 */
void fc_require_memory(const struct fc_world *world, size_t bytes);

/*
 * Collective: returns page-aligned memory of count * unit bytes, or ends all ranks when one of them has none. It is not
 * touched: fc_fill and fc_spoil touch the bytes of a point before it is timed, as other benchmarks do. Touching all of
 * it here would lay its pages out better than a real program finds them.
 */
void *fc_allocate_all(const struct fc_world *world, size_t count, size_t unit);

/* -------------------------------------------------------------------- data */

/*
 * Returns a byte of the test data. It depends on its position, on the size of the message and on its sender, so that
 * shifted, stale and misdirected data are all noticed.
 */
unsigned char fc_pattern(size_t at, size_t size, int sender);

/* Writes the `size` bytes that `sender` sends. */
void fc_fill(unsigned char *buffer, size_t size, int sender);

/* Makes every byte of a receive buffer differ from the one that will arrive. */
void fc_spoil(unsigned char *buffer, size_t size, int sender);

/* Returns the position of the first wrong byte, `size` if all are right. */
size_t fc_first_wrong(const unsigned char *buffer, size_t size, int sender);

/*
 * Collective: ends the program if data were wrong. `wrong` is the first wrong byte of a message of `size` bytes from
 * `sender` to this rank, or `size`; `mode` is what was measured.
 */
void fc_end_if_wrong(const struct fc_world *world, size_t wrong, size_t size, int sender, const char *mode);

/* ----------------------------------------------------------------- signals */

/* Send and receive an empty message, which shows only that its sender has come this far. */
void fc_signal(const struct fc_world *world, int receiver, int tag);
void fc_await(const struct fc_world *world, int sender, int tag);

/* ----------------------------------------------------------------- a pair */

/* One side of a pair of ranks while one size is measured. */
struct fc_side {
    const struct fc_world *world;
    int partner;
    size_t size; /* of a message, bytes */
    unsigned char *send;
    unsigned char *receive;
};

/* Collective: allocates the buffers of a side, for one message of `max_size` bytes each. */
struct fc_side fc_make_side(const struct fc_world *world, size_t max_size);
void fc_free_side(struct fc_side *side);

#endif
