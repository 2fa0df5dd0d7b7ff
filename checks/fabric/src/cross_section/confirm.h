// SPDX-License-Identifier: BSD-3-Clause
/*
 * What looked slow in `rotate` is measured again, together with its neighbours and alone, and so are other pairs, as
 * controls.
 */
#ifndef CONFIRM_H
#define CONFIRM_H

#include "suspects.h"

/* Collective, after the scan: shares the levels of nodes, then measures the suspects again. */
void fc_examine(struct node *node, struct verdict *verdict);

#endif
