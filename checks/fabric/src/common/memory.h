// SPDX-License-Identifier: BSD-3-Clause
/*
 * Buffers for messages in the memory of the host or of a GPU. The library of the GPUs is loaded when it is asked for:
 * nothing is needed to build, or to run without.
 */
#ifndef MEMORY_H
#define MEMORY_H

#include "errors.h"

enum fc_memory_kind { FC_HOST_MEMORY, FC_CUDA, FC_ROCM };

/* By kind, NULL after the last. */
extern const char *const fc_memory_names[];

enum { fc_device_calls = 12 };

/* A memory; of a GPU with its PCI address and the functions of its library. */
struct fc_memory {
    const struct fc_world *world;
    size_t kind;
    char device[32];
    void (*call[fc_device_calls])(void);
};

/* A program writes and reads `host`, MPI gets `data`. In the memory of the host they are the same. */
struct fc_buffer {
    unsigned char *data;
    unsigned char *host;
    size_t size;
};

/* Collective: chooses a GPU by the number of this rank among those of its host; ends the program if a rank has none. */
struct fc_memory fc_open_memory(const struct fc_world *world, size_t kind);

/* Collective, prints on rank 0: the header lines on the memory, the GPU of each rank, and whether MPI accepts it. */
void fc_print_memory(const struct fc_memory *memory);

/* Collective: allocates a buffer, or ends the program. */
struct fc_buffer fc_make_buffer(const struct fc_memory *memory, size_t size);
void fc_free_buffer(const struct fc_memory *memory, struct fc_buffer *buffer);

/* Copy `host` to `data`, and `data` to `host`. */
void fc_write_buffer(const struct fc_memory *memory, const struct fc_buffer *buffer);
void fc_read_buffer(const struct fc_memory *memory, const struct fc_buffer *buffer);

#endif
