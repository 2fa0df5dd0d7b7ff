// SPDX-License-Identifier: BSD-3-Clause
/*
 * What messages are made of: memory, data that show what became of them, and empty ones as signals.
 */
#ifndef MESSAGES_H
#define MESSAGES_H

#include "errors.h"

#include <stdint.h>
#include <unistd.h>

/* ------------------------------------------------------------------ memory */

/*
 * Page-aligned memory of count * unit bytes, not touched: fc_fill and fc_spoil
 * touch the bytes of a point before it is timed, as other benchmarks do. Touching
 * all of it here would lay its pages out better than a real program finds them.
 * NULL if it overflows or cannot be had.
 */
static inline void *fc_allocate(size_t count, size_t unit)
{
    const long page = sysconf(_SC_PAGESIZE);
    const size_t alignment = page > 0 ? (size_t)page : 4096;
    void *memory = NULL;
    if (unit != 0 && count > (SIZE_MAX - alignment) / unit) {
        return NULL;
    }
    const size_t bytes = count * unit == 0 ? 1 : count * unit;
    const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    if (posix_memalign(&memory, alignment, rounded) != 0) {
        return NULL;
    }
    return memory;
}

/* Bytes the host can still give, SIZE_MAX if it does not say. */
static inline size_t fc_memory_available(void)
{
    FILE *const file = fopen("/proc/meminfo", "r");
    char line[256];
    size_t available = SIZE_MAX;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        unsigned long long kib = 0;
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1 && kib <= SIZE_MAX / 1024) {
            available = (size_t)kib * 1024;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return available;
}

/*
 * Collective, before the buffers are allocated: with overcommitment the kernel
 * grants any amount and kills a rank later, when the pages are touched.
 */
static inline void fc_require_memory(const struct fc_world *world, size_t bytes)
{
    MPI_Comm host = MPI_COMM_NULL;
    const double mine = (double)bytes; /* a sum of doubles does not wrap around */
    double needed = 0.0;
    FC_MPI(MPI_Comm_split_type(world->comm, MPI_COMM_TYPE_SHARED, world->rank, MPI_INFO_NULL,
                               &host));
    FC_MPI(MPI_Allreduce(&mine, &needed, 1, MPI_DOUBLE, MPI_SUM, host));
    FC_MPI(MPI_Comm_free(&host));
    const double available = (double)fc_memory_available();
    fc_end_if_any(world, needed > available,
                  "the ranks of a host need %.0f MiB but it has %.0f MiB available; "
                  "use smaller messages or fewer ranks per host",
                  needed / 1048576.0, available / 1048576.0);
}

/* Collective: fc_allocate that ends all ranks when one of them has no memory. */
static inline void *fc_allocate_all(const struct fc_world *world, size_t count, size_t unit)
{
    void *const memory = fc_allocate(count, unit);
    fc_end_if_any(world, memory == NULL,
                  "cannot allocate %zu x %zu bytes; use smaller messages or raise the memory limit",
                  count, unit);
    return memory;
}

/* -------------------------------------------------------------------- data */

/*
 * Test data. A byte depends on its position, on the size of the message and on
 * its sender, so that shifted, stale and misdirected data are all noticed.
 */
static inline unsigned char fc_pattern(size_t at, size_t size, int sender)
{
    const size_t mixed = at ^ (at >> 8) ^ (at >> 16);
    return (unsigned char)(mixed + size * 7 + size / 251 + (size_t)sender * 101 + 1);
}

/* Writes what `sender` sends: `size` bytes. */
static inline void fc_fill(unsigned char *buffer, size_t size, int sender)
{
    for (size_t i = 0; i < size; i++) {
        buffer[i] = fc_pattern(i, size, sender);
    }
}

/* Makes every byte of a receive buffer differ from what is going to arrive. */
static inline void fc_spoil(unsigned char *buffer, size_t size, int sender)
{
    for (size_t i = 0; i < size; i++) {
        buffer[i] = (unsigned char)~fc_pattern(i, size, sender);
    }
}

/* Position of the first wrong byte, `size` if all are right. */
static inline size_t fc_first_wrong(const unsigned char *buffer, size_t size, int sender)
{
    for (size_t i = 0; i < size; i++) {
        if (buffer[i] != fc_pattern(i, size, sender)) {
            return i;
        }
    }
    return size;
}

/*
 * Collective: ends the program if data were wrong. `wrong` is the first wrong byte of a message
 * of `size` bytes from `sender` to this rank, or `size`; `mode` is what was measured.
 */
static inline void fc_end_if_wrong(const struct fc_world *world, size_t wrong, size_t size,
                                   int sender, const char *mode)
{
    fc_end_if_any(world, wrong != size,
                  "wrong data: byte %zu of a message of %zu bytes from rank %d to rank %d (%s); "
                  "the MPI library or the network corrupts messages",
                  wrong, size, sender, world->rank, mode);
}

/* ----------------------------------------------------------------- signals */

/* An empty message, which says only that its sender has come so far. */
static inline void fc_signal(const struct fc_world *world, int receiver, int tag)
{
    FC_MPI(MPI_Send(NULL, 0, MPI_BYTE, receiver, tag, world->comm));
}

static inline void fc_await(const struct fc_world *world, int sender, int tag)
{
    FC_MPI(MPI_Recv(NULL, 0, MPI_BYTE, sender, tag, world->comm, MPI_STATUS_IGNORE));
}

#endif
