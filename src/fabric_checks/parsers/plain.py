# SPDX-License-Identifier: BSD-3-Clause
"""Remove from an output the additions of launchers, terminals and editors."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fabric_checks.core.errors import OutputError, quoted

#: Colours of words, and the erase-to-end-of-line that comes with them; launchers use no other control
#: sequences.
_COLOUR = re.compile(
    r"(?<!\S)(?:\x1b\[(?:[0-9;:]*m|K))+|(?:\x1b\[(?:[0-9;:]*m|K))+(?!\S)"
)
#: Line ends for Python, but not for C programs.
_NO_LINE_END = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
#: The tag of each line with Open MPI's --tag-output; from 5 on with the job's name, and a blank after it.
_TAG = re.compile(r"(?m)^\[[\w.@-]*?[0-9]+,[0-9]+\]<std(?:out|err)>:")
#: The rank before each line with ``srun --label`` and MPICH's ``mpiexec -prepend-rank``; PALS puts the node
#: before it.
_RANK = re.compile(r"(?m)^(?:(?:[\w.-]{1,255} )? *[0-9]+:|\[[0-9]+\])(?: |$)")
#: What UCX, libfabric, PMIx, srun and Open MPI print, and the handlers of signals of Open MPI and UCX, also
#: behind the beginning of a line.
_LOG = (
    r"(?:\[\d{9,}\.\d+\] \[\S+:\d+ *:\d+\] +\S+:\d+ +UC\w+ |libfabric:\d+:\d*:?\w*:\w+:"
    r"|\[[\w.-]+:\d+(?::\d+:\d+)?\] (?:\*\*\* Process received|Signal|Failing at|Caught signal|\[ ?\d+\]"
    r" |\*\*\* End"
    r"|PMIX ERROR:)|srun: warning: |(?<![\w.-])[\w.-]+\.\d+ hfi_\w+: "
    r"|==== backtrace |(?<!.)WARNING: |(?<!.) *\d+ +(?:0x[0-9a-f]+ )?\S+\(\) +\S*:\d).*"
)
#: One of these is in every line of that.
_OF_LOG = ("] ", "libfabric:", "srun: ", "hfi_", "==== ", "WARNING: ", "() ")
#: Texts of which one is at each place that is changed, its pattern, and what stands there then: a million
#: rows are searched much faster for texts than for patterns.
_CHANGES = (
    (("\ufeff",), re.compile("(?m)^\ufeff"), ""),
    (("\r",), re.compile("\r\n?"), "\n"),
    (("",), _NO_LINE_END, "\ufffd"),
    (("\x1b",), _COLOUR, ""),
)
_LAST_CHANGES = (
    (_OF_LOG, re.compile(rf"(?m)^(?:{_LOG})\n?|{_LOG}$"), ""),
    ((" \n", "\t\n"), re.compile(r"(?m)(?<![ \t])[ \t]+$"), ""),
)
#: What UCX logs of an operation that it did not do. The program ends as if it had, and prints a time.
_REFUSED = re.compile(r"UCX +ERROR +((?:invalid|unsupported) atomic operation[^\n]*)")


def cleaned(text: str) -> str:
    """Return an output without byte-order marks, colours, tags of all lines, what network libraries log, and
    blanks at the ends of lines.

    Each line is ended by a line feed. The lines keep their numbers, but those of the log are not counted.

    :raises OutputError: if that log names operations that were not done.
    """
    if refused := _REFUSED.search(text):
        raise OutputError(
            f"UCX did not do the atomic operations, so nothing was measured: {quoted(refused[1].strip())}; "
            "take another one-sided component of Open MPI: OMPI_MCA_osc=^ucx"
        )
    text = _without_tags(_changed(text, _CHANGES))
    if _RANK.match(text) and all(
        _RANK.match(line) for line in text.split("\n") if line
    ):
        text = _RANK.sub("", text)
    return _changed(text.rstrip(" \t"), _LAST_CHANGES)


def _changed(
    text: str, changes: Sequence[tuple[tuple[str, ...], re.Pattern[str], str]]
) -> str:
    """Return a text with changes made, one after the other."""
    for marks, pattern, new in changes:
        if any(mark in text for mark in marks):
            text = pattern.sub(new, text)
    return text


def _without_tags(text: str) -> str:
    """Remove tags; the blank after them too, if it follows each of them; after one with a job's name the line
    may be empty. That blank is the program's where all of its lines begin with one: parsers of such programs
    do without it.
    """
    if "]<std" not in text:
        return text
    tags = list(_TAG.finditer(text))
    allowed = {" ", "\n", ""} if all("@" in tag[0] for tag in tags) else {" "}
    blank = " ?" if {text[tag.end() : tag.end() + 1] for tag in tags} <= allowed else ""
    return re.sub(_TAG.pattern + blank, "", text)
