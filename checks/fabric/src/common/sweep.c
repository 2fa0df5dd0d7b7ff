// SPDX-License-Identifier: BSD-3-Clause
#include "sweep.h"

size_t fc_next_half_octave(size_t size)
{
    const bool power_of_two = (size & (size - 1)) == 0;
    if (size < 2) {
        return size + 1;
    }
    return power_of_two ? size / 2 * 3 : size / 3 * 4;
}

size_t fc_next_power_of_two(size_t size)
{
    return size == 0 ? 1 : 2 * size;
}

size_t fc_first_size(const struct fc_sweep *sweep, size_t (*next)(size_t))
{
    size_t size = 0;
    while (size < sweep->min_size) {
        size = next(size);
    }
    return size;
}

void fc_require_order(const struct fc_world *world, const struct fc_sweep *sweep)
{
    if (sweep->min_size > sweep->max_size) {
        fc_usage_error(world, "--min-size %zu is above --max-size %zu; exchange them", sweep->min_size,
                       sweep->max_size);
    }
}

void fc_require_sizes(const struct fc_world *world, const struct fc_sweep *sweep, size_t (*next)(size_t))
{
    fc_require_order(world, sweep);
    if (fc_first_size(sweep, next) > sweep->max_size) {
        fc_usage_error(world, "no size from --min-size %zu to --max-size %zu; widen them", sweep->min_size,
                       sweep->max_size);
    }
}
