/* SPDX-License-Identifier: BSD-3-Clause
 * SimGrid's macro for nanosleep splits a compound literal at its comma. */
#undef nanosleep
