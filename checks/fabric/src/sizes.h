// SPDX-License-Identifier: BSD-3-Clause
/*
 * The message sizes of a run.
 */
#ifndef SIZES_H
#define SIZES_H

#include "errors.h"

/*
 * 0, 1, 2, 3, 4, 6, 8, 12, ...: the powers of two and the sizes half-way between
 * them, because N1/2 is interpolated and a factor of two is too coarse for that.
 * The caller stops at the largest size, which is below 2^31.
 */
static inline size_t fc_next_half_octave(size_t size)
{
    const bool power_of_two = (size & (size - 1)) == 0;
    if (size < 2) {
        return size + 1;
    }
    return power_of_two ? size / 2 * 3 : size / 3 * 4;
}

/* 0, 1, 2, 4, 8, ... */
static inline size_t fc_next_power_of_two(size_t size)
{
    return size == 0 ? 1 : 2 * size;
}

/* The first size of a sequence that begins with 0 and is not below `least`. */
static inline size_t fc_first_size(size_t least, size_t (*next)(size_t))
{
    size_t size = 0;
    while (size < least) {
        size = next(size);
    }
    return size;
}

/* Collective: ends the program if a range of sizes, in bytes, ends before it begins. */
static inline void fc_require_order(const struct fc_world *world, size_t least, size_t largest)
{
    if (least > largest) {
        fc_usage_error(world, "--min-size %zu is above --max-size %zu; exchange them", least,
                       largest);
    }
}

/* Collective: ends the program unless a sequence has a size from `least` to `largest`. */
static inline void fc_require_sizes(const struct fc_world *world, size_t least, size_t largest,
                                    size_t (*next)(size_t))
{
    fc_require_order(world, least, largest);
    if (fc_first_size(least, next) > largest) {
        fc_usage_error(world, "no size from --min-size %zu to --max-size %zu; widen them", least,
                       largest);
    }
}

#endif
