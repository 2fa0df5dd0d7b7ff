// SPDX-License-Identifier: BSD-3-Clause
#include "points.h"

struct fc_rows fc_begin_rows(const struct fc_world *world, const struct fc_sweep *sweep,
                             const struct fc_option *options)
{
    struct fc_rows rows = {.world = world, .rule = sweep->rule, .raw = fc_open_raw(world, sweep->raw_name)};
    rows.rule.resolution = world->rank == 0 ? fc_clock_resolution() : 0.0;
    fc_begin_head(world, rows.rule.resolution, options);
    return rows;
}

int fc_end_rows(struct fc_rows *rows)
{
    fc_close_raw(rows->world, rows->raw);
    fc_free_samples(&rows->samples);
    if (rows->world->rank == 0) {
        fc_print(rows->world, "# moved: %llu bytes\n", rows->moved);
    }
    return fc_finish(rows->world, rows->count);
}

/* Collective: samples one mode and ends the program if its data are not what was sent. */
static struct fc_result measure_mode(struct fc_rows *rows, const struct fc_row *row, const struct fc_mode *mode)
{
    const struct fc_world *const world = rows->world;
    struct fc_subject subject = {mode->repeat, row->data, mode->operations, 0};
    size_t wrong = row->size;
    int sender = mode->sender;
    fc_fill(row->send, row->size, world->rank);
    for (int i = 0; i < mode->messages; i++) {
        fc_spoil(row->receive + (size_t)i * row->size, row->size, mode->sender + i);
    }
    FC_MPI(MPI_Barrier(world->comm));
    const struct fc_result result = fc_measure(world, &rows->rule, &subject, &rows->samples);
    rows->moved += subject.repeated * mode->sent * row->size;
    for (int i = 0; i < mode->messages && wrong == row->size; i++) {
        sender = mode->sender + i;
        wrong = fc_first_wrong(row->receive + (size_t)i * row->size, row->size, sender);
    }
    fc_end_if_wrong(world, wrong, row->size, sender, mode->name);
    return result;
}

void fc_measure_row(struct fc_rows *rows, const struct fc_row *row)
{
    struct fc_result results[FC_MOST_MODES];
    for (int i = 0; i < row->count; i++) {
        char what[2 * FC_LABEL];
        results[i] = measure_mode(rows, row, &row->modes[i]);
        snprintf(what, sizeof what, "%s %s", row->label, row->modes[i].name);
        fc_write_raw(rows->raw, what, &rows->samples);
    }
    if (rows->world->rank == 0) {
        fc_print(rows->world, "%s", row->label);
        for (int i = 0; i < row->count; i++) {
            fc_print_result(rows->world, &results[i]);
        }
        fc_print(rows->world, "\n");
    }
    fc_check_output(rows->world);
    fc_check_raw(rows->world, rows->raw);
    rows->count++;
}

void fc_measure_sizes(struct fc_rows *rows, const struct fc_sweep *sweep, size_t (*next)(size_t), struct fc_side *side,
                      const void *data, const struct fc_mode *modes, int count)
{
    for (side->size = fc_first_size(sweep, next); side->size <= sweep->max_size; side->size = next(side->size)) {
        struct fc_row row = {"", side->size, side->send, side->receive, data, modes, count};
        snprintf(row.label, sizeof row.label, "%zu", side->size);
        fc_measure_row(rows, &row);
    }
}
