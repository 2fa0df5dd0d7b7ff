// SPDX-License-Identifier: BSD-3-Clause
/*
 * Memory that an adapter has to know before it moves long messages from or to it: the processor of the host registers
 * what a message uses for the first time. What is registered remains so until it is unmapped: a pin-down cache (Tezuka
 * et al., Pin-down cache: a virtual memory management technique for zero-copy communication, 1998) that is never full.
 *
 * All ranks share one address space. What `free` gives back to the kernel stays registered, for nobody hears of it, and so
 * does what a program unmaps that was compiled with -fno-plt.
 */
#ifndef REGISTRATION_H
#define REGISTRATION_H

#include "platform.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unordered_set>

namespace {

class Registered {
    const size_t page_ = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    std::unordered_set<uintptr_t> pages_;

    template <class F> void each(const void* memory, size_t bytes, F of) const
    {
        const auto begin = reinterpret_cast<uintptr_t>(memory);
        for (uintptr_t page = begin / page_; page * page_ < begin + bytes; page++) {
            of(page);
        }
    }

public:
    /* How many bytes of it were not registered. */
    size_t add(const void* memory, size_t bytes)
    {
        size_t added = 0;
        each(memory, bytes, [&](uintptr_t page) { added += pages_.insert(page).second ? page_ : 0; });
        return added;
    }

    void remove(const void* memory, size_t bytes)
    {
        each(memory, bytes, [&](uintptr_t page) { pages_.erase(page); });
    }
};

/* A library's table of what it calls in others, by the name of what is called. */
void** slot_of(const link_map* library, const char* name)
{
    const ElfW(Rela)* calls = nullptr;
    const ElfW(Sym)* symbols = nullptr;
    const char* names = nullptr;
    size_t bytes = 0;
    for (const ElfW(Dyn)* each = library->l_ld; each->d_tag != DT_NULL; each++) {
        if (each->d_tag == DT_JMPREL) {
            calls = reinterpret_cast<const ElfW(Rela)*>(each->d_un.d_ptr);
        } else if (each->d_tag == DT_SYMTAB) {
            symbols = reinterpret_cast<const ElfW(Sym)*>(each->d_un.d_ptr);
        } else if (each->d_tag == DT_STRTAB) {
            names = reinterpret_cast<const char*>(each->d_un.d_ptr);
        } else if (each->d_tag == DT_PLTRELSZ) {
            bytes = each->d_un.d_val;
        }
    }
    for (size_t i = 0; i < bytes / sizeof *calls; i++) {
        if (std::strcmp(names + symbols[ELF64_R_SYM(calls[i].r_info)].st_name, name) == 0) {
            return reinterpret_cast<void**>(library->l_addr + calls[i].r_offset);
        }
    }
    return nullptr;
}

/* Has a loaded program call another function: SimGrid loads it so (RTLD_DEEPBIND) that its own come first. */
void redirect(void* program, const char* name, void* to)
{
    const link_map* library = nullptr;
    if (dlinfo(program, RTLD_DI_LINKMAP, &library) != 0) {
        return;
    }
    if (void** const slot = slot_of(library, name); slot != nullptr) {
        const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
        const uintptr_t begin = reinterpret_cast<uintptr_t>(slot) / page * page;
        // Programs that are bound at once have their table read-only.
        if (mprotect(reinterpret_cast<void*>(begin), page, PROT_READ | PROT_WRITE) == 0) {
            *slot = to;
        }
    }
}

} // namespace

#endif
