// SPDX-License-Identifier: BSD-3-Clause
#include "messages.h"

#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

/* ------------------------------------------------------------------ memory */

/* Returns the bytes that the host can still give, SIZE_MAX if that is unknown. */
static size_t memory_available(void)
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

void fc_require_memory(const struct fc_world *world, size_t bytes)
{
    MPI_Comm host = MPI_COMM_NULL;
    const double mine = (double)bytes; /* a sum of doubles does not wrap around */
    double needed = 0.0;
    FC_MPI(MPI_Comm_split_type(world->comm, MPI_COMM_TYPE_SHARED, world->rank, MPI_INFO_NULL, &host));
    FC_MPI(MPI_Allreduce(&mine, &needed, 1, MPI_DOUBLE, MPI_SUM, host));
    FC_MPI(MPI_Comm_free(&host));
    const double available = (double)memory_available();
    fc_end_if_any(world, needed > available,
                  "the ranks of a host need %.0f MiB but it has %.0f MiB available; "
                  "use smaller messages or fewer ranks per host",
                  needed / 1048576.0, available / 1048576.0);
}

static void *allocate(size_t count, size_t unit)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *memory = NULL;
    if (unit != 0 && count > (SIZE_MAX - page) / unit) {
        return NULL;
    }
    const size_t pages = (count * unit + page - 1) / page;
    return posix_memalign(&memory, page, (pages > 0 ? pages : 1) * page) == 0 ? memory : NULL;
}

void *fc_allocate_all(const struct fc_world *world, size_t count, size_t unit)
{
    void *const memory = allocate(count, unit);
    fc_end_if_any(world, memory == NULL,
                  "cannot allocate %zu x %zu bytes; use smaller messages or raise the memory limit", count, unit);
    return memory;
}

/* -------------------------------------------------------------------- data */

unsigned char fc_pattern(size_t at, size_t size, int sender)
{
    const size_t mixed = at ^ (at >> 8) ^ (at >> 16);
    return (unsigned char)(mixed + size * 7 + size / 251 + (size_t)sender * 101 + 1);
}

void fc_fill(unsigned char *buffer, size_t size, int sender)
{
    for (size_t i = 0; i < size; i++) {
        buffer[i] = fc_pattern(i, size, sender);
    }
}

void fc_spoil(unsigned char *buffer, size_t size, int sender)
{
    for (size_t i = 0; i < size; i++) {
        buffer[i] = (unsigned char)~fc_pattern(i, size, sender);
    }
}

size_t fc_first_wrong(const unsigned char *buffer, size_t size, int sender)
{
    size_t at = 0;
    while (at < size && buffer[at] == fc_pattern(at, size, sender)) {
        at++;
    }
    return at;
}

void fc_end_if_wrong(const struct fc_world *world, size_t wrong, size_t size, int sender, const char *mode)
{
    fc_end_if_any(world, wrong != size,
                  "wrong data: byte %zu of a message of %zu bytes from rank %d to rank %d (%s); "
                  "the MPI library or the network corrupts messages",
                  wrong, size, sender, world->rank, mode);
}

/* ----------------------------------------------------------------- signals */

void fc_signal(const struct fc_world *world, int receiver, int tag)
{
    FC_MPI(MPI_Send(NULL, 0, MPI_BYTE, receiver, tag, world->comm));
}

void fc_await(const struct fc_world *world, int sender, int tag)
{
    FC_MPI(MPI_Recv(NULL, 0, MPI_BYTE, sender, tag, world->comm, MPI_STATUS_IGNORE));
}

/* ----------------------------------------------------------------- a pair */

struct fc_side fc_make_side(const struct fc_world *world, size_t max_size)
{
    struct fc_side side = {world, 1 - world->rank, 0, NULL, NULL};
    fc_require_memory(world, 2 * max_size);
    side.send = fc_allocate_all(world, max_size, 1);
    side.receive = fc_allocate_all(world, max_size, 1);
    return side;
}

void fc_free_side(struct fc_side *side)
{
    free(side->send);
    free(side->receive);
}
