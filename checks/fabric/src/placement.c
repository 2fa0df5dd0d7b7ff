// SPDX-License-Identifier: BSD-3-Clause
/*
 * Placement probe: where does every rank run? Host, node name of the batch
 * system, the CPU it is on, the CPUs it may use and their physical cores, and
 * the CPUs that its node has.
 */
#define FC_PROGRAM "placement"
#include "program.h"

#include <sched.h>

static const char method[] =
    "placement: prints for every MPI rank where it runs, in rank order.\n"
    "\n"
    "Run it with the launcher line and the number of ranks of the application:\n"
    "  mpirun -np 4 placement\n"
    "Columns: rank; host (MPI_Get_processor_name); node (SLURMD_NODENAME, `-` if not\n"
    "set); cpu the rank was on when asked (-1 if unknown); cpus of its affinity mask\n"
    "as a list such as 0-3,8; cores these are on as package:core, each once; online,\n"
    "the CPUs of the node that are in service (`-` if the system does not say, or\n"
    "simulates the node). Blanks and non-printing bytes in names become `?`.\n";

/* ------------------------------------------------------------ growing text */

struct text {
    char *data;
    size_t length;
    size_t capacity;
};

static void reserve(struct text *text, size_t more)
{
    if (more > SIZE_MAX / 2 - text->length) {
        fc_abort("a row is too long");
    }
    if (text->length + more <= text->capacity) {
        return;
    }
    const size_t capacity = 2 * (text->length + more);
    char *const data = realloc(text->data, capacity);
    if (data == NULL) {
        fc_abort("no memory for a row of %zu bytes", capacity);
    }
    text->data = data;
    text->capacity = capacity;
}

FC_PRINTF(2, 3) static void append(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0) {
        fc_abort("cannot format a row");
    }
    reserve(text, (size_t)length + 1);
    va_start(arguments, format);
    vsnprintf(text->data + text->length, (size_t)length + 1, format, arguments);
    va_end(arguments);
    text->length += (size_t)length;
}

/* Appends a name as one field: never empty, no blanks. */
static void append_name(struct text *text, const char *name)
{
    const char *const field = name == NULL || *name == '\0' ? "-" : name;
    append(text, "%s", field);
    fc_clean(text->data + text->length - strlen(field), true);
}

/* ---------------------------------------------------------------- affinity */

struct mask {
    cpu_set_t *set; /* NULL if the system does not tell */
    size_t bytes;
    int cpus; /* number of bits */
};

#ifdef SMPI_H
/* SimGrid's MPI: all ranks are one process, of the machine that simulates, whose CPUs say nothing. */
static const bool is_simulated = true;
#else
static const bool is_simulated = false;
#endif

/*
 * The size of the kernel's mask is not known, and cpu_set_t ends at 1024 CPUs:
 * the call fails with EINVAL until the mask offered is long enough.
 */
static struct mask get_mask(void)
{
    for (int cpus = 1024; cpus <= 1 << 22 && !is_simulated; cpus *= 2) {
        struct mask mask = {CPU_ALLOC((size_t)cpus), CPU_ALLOC_SIZE((size_t)cpus), cpus};
        if (mask.set == NULL) {
            fc_abort("no memory for an affinity mask of %d CPUs", cpus);
        }
        CPU_ZERO_S(mask.bytes, mask.set);
        if (sched_getaffinity(0, mask.bytes, mask.set) == 0) {
            return mask;
        }
        CPU_FREE(mask.set);
        if (errno != EINVAL) {
            break;
        }
    }
    return (struct mask){NULL, 0, 0};
}

static bool is_allowed(const struct mask *mask, int cpu)
{
    return cpu < mask->cpus && CPU_ISSET_S((size_t)cpu, mask->bytes, mask->set);
}

/* The mask as a Linux CPU list: 0-3,8 */
static void append_cpus(struct text *text, const struct mask *mask)
{
    const char *separator = "";
    for (int first = 0; first < mask->cpus; first++) {
        if (!is_allowed(mask, first)) {
            continue;
        }
        int last = first;
        while (is_allowed(mask, last + 1)) {
            last++;
        }
        append(text, last > first ? "%s%d-%d" : "%s%d", separator, first, last);
        separator = ",";
        first = last;
    }
    if (*separator == '\0') {
        append(text, "-");
    }
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

/* Cores of all allowed CPUs, unsorted. Returns their number, 0 if one is unknown. */
static size_t read_cores(const struct mask *mask, struct core *cores)
{
    size_t count = 0;
    for (int cpu = 0; cpu < mask->cpus; cpu++) {
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

/* Sorted, each core once: two hardware threads of a core share it. */
static void append_cores(struct text *text, const struct mask *mask)
{
    const size_t most = mask->set == NULL ? 0 : (size_t)CPU_COUNT_S(mask->bytes, mask->set);
    struct core *const cores = calloc(most + 1, sizeof *cores);
    if (cores == NULL) {
        fc_abort("no memory for a list of %zu cores", most);
    }
    const size_t count = read_cores(mask, cores);
    qsort(cores, count, sizeof *cores, compare_cores);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || compare_cores(&cores[i - 1], &cores[i]) != 0) {
            append(text, "%s%d:%d", i == 0 ? "" : ",", cores[i].package, cores[i].core);
        }
    }
    if (count == 0) {
        append(text, "-");
    }
    free(cores);
}

/* -------------------------------------------------------------------- node */

/* The kernel writes the list itself, as 0-3,8 and a newline. */
static void append_online(struct text *text)
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
    append(text, "%s", is_whole ? list : "-");
}

/* ------------------------------------------------------------------ report */

static struct text make_row(const struct fc_world *world)
{
    struct text row = {NULL, 0, 0};
    struct mask mask = get_mask();
    char host[MPI_MAX_PROCESSOR_NAME + 1];
    fc_host(host);
    append(&row, "%d %s ", world->rank, host);
    append_name(&row, getenv("SLURMD_NODENAME"));
    append(&row, " %d ", is_simulated ? -1 : sched_getcpu());
    append_cpus(&row, &mask);
    append(&row, " ");
    append_cores(&row, &mask);
    append(&row, " ");
    append_online(&row);
    if (row.length > INT_MAX) {
        fc_abort("a row of %zu bytes is too long to be sent", row.length);
    }
    if (mask.set != NULL) {
        CPU_FREE(mask.set);
    }
    return row;
}

enum { tag_request = 1, tag_row = 2 };

static void send_row(const struct fc_world *world, const struct text *row)
{
    FC_MPI(MPI_Recv(NULL, 0, MPI_CHAR, 0, tag_request, world->comm, MPI_STATUS_IGNORE));
    FC_MPI(MPI_Send(row->data, (int)row->length, MPI_CHAR, 0, tag_row, world->comm));
}

static void receive_row(const struct fc_world *world, int rank, int length, struct text *row)
{
    row->length = 0;
    reserve(row, (size_t)length + 1);
    FC_MPI(MPI_Send(NULL, 0, MPI_CHAR, rank, tag_request, world->comm));
    FC_MPI(MPI_Recv(row->data, length, MPI_CHAR, rank, tag_row, world->comm, MPI_STATUS_IGNORE));
    row->data[length] = '\0';
}

/*
 * Rank 0 learns the lengths first and then asks one rank after the other for
 * its row: it needs memory for one row only, and no flood of messages reaches
 * it on a large machine.
 */
static void print_rows(const struct fc_world *world, struct text *row)
{
    const int length = (int)row->length;
    int *const lengths = fc_allocate_all(world, world->rank == 0 ? (size_t)world->size : 1,
                                         sizeof *lengths);
    FC_MPI(MPI_Gather(&length, 1, MPI_INT, lengths, 1, MPI_INT, 0, world->comm));
    if (world->rank != 0) {
        send_row(world, row);
    } else {
        printf("%s\n", row->data);
        for (int rank = 1; rank < world->size; rank++) {
            receive_row(world, rank, lengths[rank], row);
            printf("%s\n", row->data);
        }
    }
    free(lengths);
}

int main(int argc, char **argv)
{
    const struct fc_world world = fc_start(argc, argv, method, NULL, 0);
    struct text row = make_row(&world);
    if (world.rank == 0) {
        fc_print_header();
        printf("# ranks: %d\n# columns: rank host node cpu cpus cores online\n", world.size);
    }
    print_rows(&world, &row);
    free(row.data);
    return fc_finish(&world, (size_t)world.size, "ranks");
}
