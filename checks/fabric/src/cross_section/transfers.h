// SPDX-License-Identifier: BSD-3-Clause
/* The messages of one test of `rotate`, and whether they arrived as they were sent. */
#ifndef TRANSFERS_H
#define TRANSFERS_H

#include "../common/errors.h"

enum { tag_warm = 1, tag_data = 2, tag_acknowledge = 3, tag_best = 4 };

/* What a rank needs to take part in a test, as sender, as receiver, or as both. */
struct transfers {
    const struct fc_world *world;
    size_t size;     /* of a message, bytes */
    size_t messages; /* that a sender sends in a test */
    unsigned char *send;
    unsigned char *receive;
    MPI_Request *requests; /* receives, sends, acknowledgement in, acknowledgement out */
    int *done;             /* as many, for MPI_Waitsome */
};

/* Collective. */
struct transfers fc_make_transfers(const struct fc_world *world, size_t size, size_t messages);
void fc_free_transfers(struct transfers *transfers);

/* This rank sends to `to` and receives from `from`; -1 if it does not. */

/* Sends an untimed message: the first one between two ranks may have to open a connection. */
void fc_warm_up(const struct transfers *transfers, int to, int from);

/* Runs one test; returns the seconds it took this rank as a sender, 0 if it is none. */
double fc_stream(const struct transfers *transfers, int to, int from);

/* Makes the bytes that will be looked at differ from those that arrive. */
void fc_spoil_places(const struct transfers *transfers, int from);

/* Returns the first wrong byte of one in each page, the size if all are right. */
size_t fc_first_wrong_place(const struct transfers *transfers, int from);

/* Returns MPI_PROC_NULL for -1. */
int fc_partner_or_null(int partner);

#endif
