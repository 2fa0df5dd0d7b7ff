// SPDX-License-Identifier: BSD-3-Clause
/*
 * A stand-in for the library of NVIDIA's driver, libcuda.so.1, on a machine without GPUs: the calls that our programs
 * make, with memory of the host. FC_DEVICES is the number of its GPUs, FC_CALLS a file that each call adds a line to;
 * FC_FAILS names a call that fails, and with FC_DAMAGE what is copied from the GPU has a wrong byte.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { failed = 2 };

static int number(const char *name)
{
    const char *const text = getenv(name);
    return text == NULL ? 0 : atoi(text);
}

static int called(const char *name, size_t value)
{
    const char *const path = getenv("FC_CALLS");
    const char *const fails = getenv("FC_FAILS");
    FILE *const file = path == NULL ? NULL : fopen(path, "a");
    if (file != NULL) {
        fprintf(file, "%s %zu\n", name, value);
        fclose(file);
    }
    return fails != NULL && strcmp(fails, name) == 0 ? failed : 0;
}

int cuInit(unsigned flags) { return called("cuInit", flags); }

int cuDeviceGetCount(int *count)
{
    *count = number("FC_DEVICES");
    return called("cuDeviceGetCount", 0);
}

int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return called("cuDeviceGet", (size_t)ordinal);
}

int cuDeviceGetPCIBusId(char *text, int capacity, int device)
{
    snprintf(text, (size_t)capacity, "0000:%02x:00.0", 0x1b + device);
    return called("cuDeviceGetPCIBusId", (size_t)device);
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    *context = context;
    return called("cuDevicePrimaryCtxRetain", (size_t)device);
}

int cuCtxSetCurrent(void *context) { return called("cuCtxSetCurrent", context != NULL); }

int cuCtxSynchronize(void) { return called("cuCtxSynchronize", 0); }

int cuMemAlloc_v2(void **address, size_t bytes)
{
    *address = malloc(bytes);
    return called("cuMemAlloc_v2", bytes);
}

int cuMemFree_v2(void *address)
{
    free(address);
    return called("cuMemFree_v2", 0);
}

int cuMemcpyHtoD_v2(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
    return called("cuMemcpyHtoD_v2", bytes);
}

int cuMemcpyDtoH_v2(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
    *(unsigned char *)to ^= (unsigned char)number("FC_DAMAGE");
    return called("cuMemcpyDtoH_v2", bytes);
}

int cuGetErrorName(int error, const char **name)
{
    *name = error == failed ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_SUCCESS";
    return 0;
}
