# SPDX-License-Identifier: BSD-3-Clause
# Sourced by what runs for long. Who reads its output through a pipe may stop, as `head` does: the run goes on, and its
# exit status is that of its cases. The programs in it would each fail in a way of its own at a pipe without a reader.

if [ ! -e /dev/fd/1 ]; then
    echo "error: standard output is closed; let it lead somewhere, if only to /dev/null" >&2
    exit 2
fi
if [ -p /dev/stdout ]; then
    # The first cat ends with the reader, the second takes the rest. An interrupt is for the run, which then still tells
    # what it measured.
    pass_on() { trap '' INT TERM HUP; cat 2>/dev/null; exec cat >/dev/null; }
    if [ /dev/stdout -ef /dev/stderr ]; then
        exec > >(pass_on) 2>&1
    else
        exec > >(pass_on)
    fi
    unset -f pass_on
fi
