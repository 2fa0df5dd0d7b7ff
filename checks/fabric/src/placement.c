// SPDX-License-Identifier: BSD-3-Clause
/*
 * Placement probe: where does every rank run? Host, node name of the batch system, the CPU it is on, the CPUs it may
 * use and their physical cores, and the CPUs that its node has.
 */
#include "common/messages.h"
#include "common/program.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

const char fc_program[] = "placement";

static const char method[] =
    "placement: prints for every MPI rank where it runs, in rank order.\n"
    "\n"
    "Run it with the launcher line and the number of ranks of the application:\n"
    "  mpirun -np 4 placement\n"
    "Columns: rank; host (MPI_Get_processor_name); node (SLURMD_NODENAME, `-` if not\n"
    "set); cpu the rank was on when asked (-1 if unknown); cpus of its affinity mask\n"
    "as a list such as 0-3,8; cores these are on as package:core, each once; online,\n"
    "the CPUs of the node that are in service (`-` if the system does not show them, or\n"
    "simulates the node). Blanks and non-printing bytes in names become `?`.\n"
    "With --nodes and --ppn its exit status is 3 if the ranks are spread otherwise, or\n"
    "if two are bound to the same one core, which --shared allows.\n";

#ifdef SMPI_H
/* SimGrid's MPI: all ranks are one process of the machine that simulates, whose CPUs are not those of the nodes. */
static const bool is_simulated = true;
#else
static const bool is_simulated = false;
#endif

/* Before MPI starts, which a full /dev/shm can end by a bus error, without a word. */
static void tell_of_full_memory(void)
{
    struct statvfs room;
    char host[256] = "";
    const unsigned long long share = 100;
    if (!is_simulated && statvfs("/dev/shm", &room) == 0 && room.f_bavail * share < room.f_blocks &&
        gethostname(host, sizeof host - 1) == 0) {
        fprintf(stderr, "%s: /dev/shm is full: %llu of %llu B are free\n", host,
                (unsigned long long)room.f_bavail * room.f_frsize, (unsigned long long)room.f_blocks * room.f_frsize);
    }
}

/* ---------------------------------------------------------------- affinity */

/* The CPUs that this rank may use; none if they are unknown. A cpu_set_t of glibc ends at 1024 CPUs. */
enum { most_cpus = 1 << 16 };
struct mask {
    cpu_set_t set[most_cpus / CPU_SETSIZE];
};

static void get_mask(struct mask *mask)
{
    memset(mask, 0, sizeof *mask);
    if (!is_simulated && sched_getaffinity(0, sizeof mask->set, mask->set) != 0) {
        memset(mask, 0, sizeof *mask);
    }
}

static bool is_allowed(const struct mask *mask, int cpu)
{
    return cpu < most_cpus && CPU_ISSET_S((size_t)cpu, sizeof mask->set, mask->set);
}

/* Writes the mask as a Linux CPU list: 0-3,8 */
static void write_cpus(FILE *row, const struct mask *mask)
{
    const char *separator = "";
    for (int first = 0; first < most_cpus; first++) {
        if (!is_allowed(mask, first)) {
            continue;
        }
        int last = first;
        while (is_allowed(mask, last + 1)) {
            last++;
        }
        fprintf(row, last > first ? "%s%d-%d" : "%s%d", separator, first, last);
        separator = ",";
        first = last;
    }
    fprintf(row, "%s", *separator == '\0' ? "-" : "");
}

/* ------------------------------------------------------------------- cores */

struct core {
    int package;
    int core;
};

static int compare_cores(const void *left, const void *right)
{
    const struct core *const a = left;
    const struct core *const b = right;
    if (a->package != b->package) {
        return a->package < b->package ? -1 : 1;
    }
    return (a->core > b->core) - (a->core < b->core);
}

static bool read_topology(int cpu, const char *what, int *value)
{
    char path[128];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/%s", cpu, what);
    FILE *const file = fopen(path, "r");
    if (file == NULL) {
        return false;
    }
    const bool found = fscanf(file, "%d", value) == 1;
    fclose(file);
    return found;
}

/* Reads the cores of all allowed CPUs, unsorted. Returns their number, 0 if one is unknown. */
static size_t read_cores(const struct mask *mask, struct core *cores)
{
    size_t count = 0;
    for (int cpu = 0; cpu < most_cpus; cpu++) {
        if (!is_allowed(mask, cpu)) {
            continue;
        }
        if (!read_topology(cpu, "physical_package_id", &cores[count].package) ||
            !read_topology(cpu, "core_id", &cores[count].core)) {
            return 0;
        }
        count++;
    }
    return count;
}

/* Writes the cores in order, each core once: two hardware threads of a core share it. */
static void write_cores(FILE *row, const struct mask *mask)
{
    const size_t most = (size_t)CPU_COUNT_S(sizeof mask->set, mask->set);
    struct core *const cores = calloc(most + 1, sizeof *cores);
    if (cores == NULL) {
        fc_abort("no memory for a list of %zu cores", most);
    }
    const size_t count = read_cores(mask, cores);
    qsort(cores, count, sizeof *cores, compare_cores);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || compare_cores(&cores[i - 1], &cores[i]) != 0) {
            fprintf(row, "%s%d:%d", i == 0 ? "" : ",", cores[i].package, cores[i].core);
        }
    }
    fprintf(row, "%s", count == 0 ? "-" : "");
    free(cores);
}

/* -------------------------------------------------------------------- node */

/* Writes the list that the kernel gives, as 0-3,8 and a newline. */
static void write_online(FILE *row)
{
    char list[4096] = "";
    FILE *const file = is_simulated ? NULL : fopen("/sys/devices/system/cpu/online", "r");
    if (file != NULL) {
        if (fgets(list, sizeof list, file) == NULL) {
            list[0] = '\0';
        }
        fclose(file);
    }
    char *const end = strchr(list, '\n');
    const bool is_whole = end != NULL && end != list;
    if (is_whole) {
        *end = '\0';
    }
    fprintf(row, "%s", is_whole ? list : "-");
}

/* ------------------------------------------------------------------ spread */

/* What is asked for, nothing if `nodes` is 0; of each rank the digests of its node, and of the one core it is bound to. */
struct spread {
    size_t nodes;
    size_t ppn;
    bool is_shared;
    uint64_t *node;
    uint64_t *core; /* 0 if the rank may use several, or the system does not show them */
};

enum { wrongly_spread = 3 };

/* FNV-1a, 64 bits, of a field, which ends at a blank or with the row. */
static uint64_t digest(uint64_t start, const char *field)
{
    for (; *field != '\0' && *field != ' '; field++) {
        start = (start ^ (unsigned char)*field) * UINT64_C(1099511628211);
    }
    return start;
}

/* The field of a row with this index. */
static const char *field_of(const char *row, int index)
{
    for (; index > 0; index--) {
        row += strcspn(row, " ");
        row += strspn(row, " ");
    }
    return row;
}

static int compare_digests(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left;
    const uint64_t b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static void note_row(struct spread *spread, int rank, const char *row)
{
    const char *const host = field_of(row, 1);
    const char *const node = field_of(row, 2);
    const char *const cores = field_of(row, 5);
    const bool is_one = *cores != '-' && cores[strcspn(cores, ", ")] == ' ';
    spread->node[rank] = digest(UINT64_C(14695981039346656037), strncmp(node, "- ", 2) == 0 ? host : node);
    spread->core[rank] = is_one ? digest(spread->node[rank], cores) : 0;
}

/* Whether every node has `ppn` ranks, and no two of them are bound to the same one core. Sorts the digests. */
static bool is_as_asked(struct spread *spread, size_t ranks)
{
    if (ranks != spread->nodes * spread->ppn) {
        return false;
    }
    qsort(spread->node, ranks, sizeof *spread->node, compare_digests);
    qsort(spread->core, ranks, sizeof *spread->core, compare_digests);
    for (size_t i = 0; i < ranks; i++) {
        /* The ranks of a node are a run of `ppn`, and the run behind it is another node's. */
        const bool is_first = i % spread->ppn == 0;
        if (i > 0 && (spread->node[i] != spread->node[i - 1]) != is_first) {
            return false;
        }
        if (i > 0 && !spread->is_shared && spread->core[i] != 0 && spread->core[i] == spread->core[i - 1]) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ report */

/* Returns the row of this rank, to be freed. */
static char *make_row(const struct fc_world *world)
{
    char *text = NULL;
    size_t length = 0;
    struct mask mask;
    char host[MPI_MAX_PROCESSOR_NAME + 1];
    char node[256] = "";
    const char *const given = getenv("SLURMD_NODENAME");
    FILE *const row = open_memstream(&text, &length);
    if (row == NULL) {
        fc_abort("no memory for a row: %s", strerror(errno));
    }
    get_mask(&mask);
    fc_host(host);
    snprintf(node, sizeof node, "%s", given == NULL || *given == '\0' ? "-" : given);
    fc_clean(node, true);
    fprintf(row, "%d %s %s %d ", world->rank, host, node, is_simulated ? -1 : sched_getcpu());
    write_cpus(row, &mask);
    fprintf(row, " ");
    write_cores(row, &mask);
    fprintf(row, " ");
    write_online(row);
    const bool failed = ferror(row) != 0;
    if (fclose(row) != 0 || failed || length > INT_MAX) {
        fc_abort("a row of %zu bytes cannot be made or is too long to be sent", length);
    }
    return text;
}

enum { tag_request = 1, tag_row = 2 };

/*
 * Collective: rank 0 asks one rank after the other for its row, so that it needs memory for one row only and no flood
 * of messages reaches it on a large machine.
 */
static void print_rows(const struct fc_world *world, const char *row, struct spread *spread)
{
    const int length = (int)strlen(row) + 1;
    int longest = 0;
    FC_MPI(MPI_Allreduce(&length, &longest, 1, MPI_INT, MPI_MAX, world->comm));
    char *const other = fc_allocate_all(world, (size_t)longest, 1);
    if (world->rank != 0) {
        fc_await(world, 0, tag_request);
        FC_MPI(MPI_Send(row, length, MPI_CHAR, 0, tag_row, world->comm));
    } else {
        fc_print_text(world, row);
        fc_print(world, "\n");
        note_row(spread, 0, row);
    }
    for (int rank = 1; world->rank == 0 && rank < world->size; rank++) {
        fc_signal(world, rank, tag_request);
        FC_MPI(MPI_Recv(other, longest, MPI_CHAR, rank, tag_row, world->comm, MPI_STATUS_IGNORE));
        fc_print_text(world, other);
        fc_print(world, "\n");
        note_row(spread, rank, other);
    }
    free(other);
}

int main(int argc, char **argv)
{
    struct spread spread = {0};
    const struct fc_option options[] = {
        {"nodes", FC_COUNT, &spread.nodes, 0, INT_MAX, "nodes that the ranks should be on; 0: any", NULL},
        {"ppn", FC_COUNT, &spread.ppn, 1, INT_MAX, "ranks that each of them should have", NULL},
        {"shared", FC_FLAG, &spread.is_shared, 0, 0, "ranks may be bound to the same core", NULL},
        FC_NO_MORE_OPTIONS};
    spread.ppn = 1;
    tell_of_full_memory();
    const struct fc_world world = fc_start(argc, argv, method, options);
    char *const row = make_row(&world);
    spread.node = fc_allocate_all(&world, (size_t)world.size, sizeof *spread.node);
    spread.core = fc_allocate_all(&world, (size_t)world.size, sizeof *spread.core);
    if (world.rank == 0) {
        fc_print_header(&world);
        fc_print(&world, "# ranks: %d\n# columns: rank host node cpu cpus cores online\n", world.size);
    }
    print_rows(&world, row, &spread);
    free(row);
    const bool is_wrong = world.rank == 0 && spread.nodes > 0 && !is_as_asked(&spread, (size_t)world.size);
    free(spread.node);
    free(spread.core);
    const int status = fc_finish(&world, (size_t)world.size);
    return is_wrong ? wrongly_spread : status;
}
