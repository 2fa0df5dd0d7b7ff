// SPDX-License-Identifier: BSD-3-Clause
/*
 * The phases `both` and `both-alone` of `rotate`: nodes send and receive at once, which in a round of a tournament none
 * does. Their rule is written once more in Python, lab/rotate/exchanges.py.
 */
#ifndef EXCHANGES_H
#define EXCHANGES_H

#include "suspects.h"

/* Collective, after the levels are shared: measures the rounds of both phases and prints a row for each direction. */
void fc_measure_exchanges(struct node *node, struct verdict *verdict);

#endif
