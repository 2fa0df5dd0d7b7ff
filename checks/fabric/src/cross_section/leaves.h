// SPDX-License-Identifier: BSD-3-Clause
/*
 * The phase `leaf` of `rotate`: all nodes of half of the groups, those at a switch, stream to several nodes of the other
 * half at once, and then these to them. Its rounds are written once more in Python,
 * fabric_checks/parsers/rotate_patterns.py.
 */
#ifndef LEAVES_H
#define LEAVES_H

#include "rounds.h"

/* Collective: finds the group of each rank, by a file or by Slurm, and how many turns there are. */
struct leaves fc_find_leaves(const struct fc_world *world, const struct plan *plan);
void fc_free_leaves(struct leaves *leaves);

/* Rank 0: prints the line of the head. */
void fc_print_leaves(const struct fc_world *world, const struct leaves *leaves);

/* Collective: measures all rounds of the phase and prints a row for each flow. */
void fc_measure_leaves(struct node *node);

#endif
