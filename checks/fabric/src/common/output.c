// SPDX-License-Identifier: BSD-3-Clause
#include "output.h"

#include <stdarg.h>
#include <string.h>

/* CRC-32 of IEEE 802.3, as in zlib and gzip, by half bytes. */
static uint32_t updated(uint32_t crc, const char *text, size_t length)
{
    static const uint32_t table[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
                                       0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                       0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    crc = ~crc;
    for (size_t i = 0; i < length; i++) {
        crc ^= (unsigned char)text[i];
        crc = table[crc & 15] ^ (crc >> 4);
        crc = table[crc & 15] ^ (crc >> 4);
    }
    return ~crc;
}

void fc_print_text(const struct fc_world *world, const char *text)
{
    const size_t length = strlen(text);
    fwrite(text, 1, length, stdout); /* whether it could, fc_flush_failed tells */
    *world->crc = updated(*world->crc, text, length);
}

void fc_print(const struct fc_world *world, const char *format, ...)
{
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof text) {
        fc_abort("a line of the output has %d bytes, more than %zu; report this", length, sizeof text);
    }
    fc_print_text(world, text);
}

void fc_print_end(const struct fc_world *world, size_t rows)
{
    printf("# complete: %zu rows, crc32 %08lx\n", rows, (unsigned long)*world->crc);
}
