// SPDX-License-Identifier: BSD-3-Clause
#include "memory.h"
#include "messages.h"
#include "program.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

const char *const fc_memory_names[] = {"host", "cuda", "rocm", NULL};

/* CUDA's driver and HIP have functions of the same arguments, which return 0 for success. */
enum call {
    call_init, call_count, call_get, call_retain, call_use, call_address, call_allocate,
    call_release, call_write, call_read, call_wait, call_name_error
};

static const char *const names[][fc_device_calls] = {
    [FC_CUDA] = {"cuInit", "cuDeviceGetCount", "cuDeviceGet", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent",
                 "cuDeviceGetPCIBusId", "cuMemAlloc_v2", "cuMemFree_v2", "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2",
                 "cuCtxSynchronize", "cuGetErrorName"},
    [FC_ROCM] = {"hipInit", "hipGetDeviceCount", "hipDeviceGet", "hipDevicePrimaryCtxRetain", "hipCtxSetCurrent",
                 "hipDeviceGetPCIBusId", "hipMalloc", "hipFree", "hipMemcpyHtoD", "hipMemcpyDtoH",
                 "hipDeviceSynchronize", "hipDrvGetErrorName"},
};
static const char *const libraries[][5] = {
    [FC_CUDA] = {"libcuda.so.1"},
    [FC_ROCM] = {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"},
};
/* What MPI libraries call the function that says whether they accept such memory: Open MPI, and MPICH. */
static const char *const queries[][2] = {
    [FC_CUDA] = {"MPIX_Query_cuda_support", "MPIX_Query_cuda_support"},
    [FC_ROCM] = {"MPIX_Query_rocm_support", "MPIX_Query_hip_support"},
};

typedef void (*function)(void);
typedef int (*on_address)(void *memory);
typedef int (*on_copy)(void *to, const void *from, size_t bytes);

/* ISO C has no cast from the result of dlsym to a function. */
static function find(void *library, const char *name)
{
    void *const symbol = dlsym(library, name);
    function found = NULL;
    memcpy(&found, &symbol, sizeof found);
    return found;
}

/* Returns whether a call went well; if not, `problem` says it. */
static bool passed(const struct fc_memory *memory, enum call call, int error, char problem[static 200])
{
    const char *name = NULL;
    if (error != 0 && memory->call[call_name_error] != NULL) { /* not in old releases of HIP */
        ((int (*)(int, const char **))memory->call[call_name_error])(error, &name);
    }
    if (error != 0) {
        snprintf(problem, 200, "%s failed with error %d, %.60s", names[memory->kind][call], error,
                 name != NULL ? name : "which has no name");
    }
    return error == 0;
}

/* Ends all ranks if a call failed. */
static void require(const struct fc_memory *memory, enum call call, int error)
{
    char problem[200];
    if (!passed(memory, call, error, problem)) {
        fc_abort("GPU %s: %s", memory->device, problem);
    }
}

/* Loads the library; returns whether it has what is needed. */
static bool load(struct fc_memory *memory, char problem[static 200])
{
    void *library = NULL;
    for (int i = 0; library == NULL && libraries[memory->kind][i] != NULL; i++) {
        library = dlopen(libraries[memory->kind][i], RTLD_NOW | RTLD_GLOBAL);
    }
    if (library == NULL) {
        snprintf(problem, 200, "%s", dlerror());
        return false;
    }
    for (int i = 0; i < fc_device_calls; i++) {
        memory->call[i] = find(library, names[memory->kind][i]);
        if (memory->call[i] == NULL && i != call_name_error) {
            snprintf(problem, 200, "%s has no %s", libraries[memory->kind][0], names[memory->kind][i]);
            return false;
        }
    }
    return true;
}

/* Makes the primary context of a GPU current, which is that of the runtime library and so of MPI. */
static bool choose(struct fc_memory *memory, int local, char problem[static 200])
{
    function *const call = memory->call;
    void *context = NULL;
    int all = 0;
    int device = 0;
    if (!passed(memory, call_init, ((int (*)(unsigned))call[call_init])(0), problem) ||
        !passed(memory, call_count, ((int (*)(int *))call[call_count])(&all), problem)) {
        return false;
    }
    if (all == 0) {
        snprintf(problem, 200, "no GPU is visible");
        return false;
    }
    return passed(memory, call_get, ((int (*)(int *, int))call[call_get])(&device, local % all), problem) &&
           passed(memory, call_retain, ((int (*)(void **, int))call[call_retain])(&context, device), problem) &&
           passed(memory, call_use, ((on_address)call[call_use])(context), problem) &&
           passed(memory, call_address,
                  ((int (*)(char *, int, int))call[call_address])(memory->device, sizeof memory->device, device),
                  problem);
}

struct fc_memory fc_open_memory(const struct fc_world *world, size_t kind)
{
    struct fc_memory memory = {.world = world, .kind = kind, .device = "-"};
    char host[MPI_MAX_PROCESSOR_NAME + 1];
    char problem[200] = "";
    MPI_Comm own_host = MPI_COMM_NULL;
    int local = 0;
    if (kind == FC_HOST_MEMORY) {
        return memory;
    }
    fc_host(host);
    FC_MPI(MPI_Comm_split_type(world->comm, MPI_COMM_TYPE_SHARED, world->rank, MPI_INFO_NULL, &own_host));
    FC_MPI(MPI_Comm_rank(own_host, &local));
    FC_MPI(MPI_Comm_free(&own_host));
    const bool chosen = load(&memory, problem) && choose(&memory, local, problem);
    fc_end_if_any(world, !chosen,
                  "no GPU for --memory %s on host %.60s (rank %d): %s; ask the scheduler for GPUs",
                  fc_memory_names[kind], host, world->rank, problem);
    fc_clean(memory.device, true);
    return memory;
}

void fc_print_memory(const struct fc_memory *memory)
{
    enum { width = sizeof memory->device };
    const struct fc_world *const world = memory->world;
    const bool leads = world->rank == 0;
    char *const devices = fc_allocate_all(world, leads ? (size_t)world->size : 0, width);
    FC_MPI(MPI_Gather(memory->device, width, MPI_CHAR, devices, width, MPI_CHAR, 0, world->comm));
    if (leads) {
        fc_print(world, "# memory: %s\n", fc_memory_names[memory->kind]);
    }
    if (leads && memory->kind != FC_HOST_MEMORY) {
        const function first = find(RTLD_DEFAULT, queries[memory->kind][0]);
        const function query = first != NULL ? first : find(RTLD_DEFAULT, queries[memory->kind][1]);
        const char *const accepts = query == NULL ? "unknown" : ((int (*)(void))query)() ? "accepted" : "not accepted";
        fc_print(world, "# %s memory by mpi: %s\n# devices:", fc_memory_names[memory->kind], accepts);
        for (int rank = 0; rank < world->size; rank++) {
            fc_print(world, " %s", devices + (size_t)rank * width);
        }
        fc_print(world, "\n");
    }
    free(devices);
}

struct fc_buffer fc_make_buffer(const struct fc_memory *memory, size_t size)
{
    struct fc_buffer buffer = {NULL, fc_allocate_all(memory->world, size, 1), size};
    void *data = buffer.host;
    if (memory->kind != FC_HOST_MEMORY) {
        char problem[200] = "";
        const int error = ((int (*)(void **, size_t))memory->call[call_allocate])(&data, size);
        fc_end_if_any(memory->world, !passed(memory, call_allocate, error, problem), "%zu bytes on GPU %s: %s", size,
                      memory->device, problem);
    }
    buffer.data = data;
    return buffer;
}

void fc_free_buffer(const struct fc_memory *memory, struct fc_buffer *buffer)
{
    if (memory->kind != FC_HOST_MEMORY) {
        require(memory, call_release, ((on_address)memory->call[call_release])(buffer->data));
    }
    free(buffer->host);
}

void fc_write_buffer(const struct fc_memory *memory, const struct fc_buffer *buffer)
{
    if (memory->kind != FC_HOST_MEMORY) {
        require(memory, call_write, ((on_copy)memory->call[call_write])(buffer->data, buffer->host, buffer->size));
        /* The copy may return before the data are there. */
        require(memory, call_wait, ((int (*)(void))memory->call[call_wait])());
    }
}

void fc_read_buffer(const struct fc_memory *memory, const struct fc_buffer *buffer)
{
    if (memory->kind != FC_HOST_MEMORY) {
        require(memory, call_read, ((on_copy)memory->call[call_read])(buffer->host, buffer->data, buffer->size));
    }
}
