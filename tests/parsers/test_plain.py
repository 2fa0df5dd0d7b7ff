# SPDX-License-Identifier: BSD-3-Clause
"""What launchers and terminals add to outputs, for every parser."""

import re

import pytest

from fabric_checks import parsers
from fabric_checks.parsers import plain
from tests.breakages import refused
from tests.parsers import corpus

#: Our own programs have one form and two readers: those of hot_spot and of rotate.
ALIKE = (
    "streaming",
    "overlap",
    "collective_overlap",
    "buffer_reuse",
    "notification",
    "latency_map",
    "placement",
)
WHOLE = {
    parser: next(iter(outputs()))
    for parser, outputs in corpus.OUTPUTS.items()
    if parser not in ALIKE
}
#: In the forms of openucx/ucx#4742 and pmodels/mpich#6433, and of ompi's and UCX's handlers of signals.
LOG = """\
[1700000000.000001] [n01:1234 :0]          ib_md.c:100  UCX  WARN  a message
[1700000000.000001] [n01:1234:0]        parser.c:1911 UCX  INFO  UCX_* env variables: UCX_TLS=tcp
libfabric:53673:1693359811::cxi:mr:cxip_map_cache():313<warn> n1: Failed to acquire mapping
[n01:4242] PMIX ERROR: OUT-OF-RESOURCE in file dstore_base.c at line 2450
srun: warning: can't run 1 processes on 2 nodes, setting nnodes to 1
n1.4242 hfi_userinit: assign_context command failed: Device or resource busy
WARNING: There was an error initializing an OpenFabrics device.
"""
SIGNAL = """[n01:12345] *** Process received signal ***
[n01:12345] Signal: Segmentation fault (11)
[n01:12345] [ 0] /lib64/libpthread.so.0(+0x12cf0)[0x7f]
[n01:12345:0:12345] Caught signal 11 (Segmentation fault: address not mapped to object at address (nil))
==== backtrace (tid:  12345) ====
 0 0x00000000000557b9 ucs_debug_print_backtrace()  ???:0
[n01:12345] *** End of error message ***"""
MARKS = {
    "blanks at the ends of lines": lambda text: text.replace("\n", " \t \n"),
    "lines before and behind": lambda text: (
        f"Loading mpi\n\n{text}\nJob 7 ended on 2026-01-01\n"
    ),
    "a byte-order mark": lambda text: "\ufeff" + text,
    "lines of Windows": lambda text: text.replace("\n", "\r\n"),
    "colours": lambda text: "".join(
        f"\x1b[01;32m\x1b[K{line}\x1b[0m\n" for line in text.splitlines()
    ),
    "Open MPI 4's tags": lambda text: "".join(
        f"[1,0]<stdout>:{line}\n" for line in text.splitlines()
    ),
    "Open MPI 5's tags": lambda text: "".join(
        f"[prterun-n1-9@1,0]<stdout>: {line}\n" for line in text.splitlines()
    ),
    "Open MPI 5's tags, the last blanks lost": lambda text: "".join(
        f"[prterun-n1-9@1,0]<stdout>: {line}".rstrip(" ") + "\n"
        for line in text.splitlines()
    ),
    "ranks of srun": lambda text: "".join(
        f"  0: {line}\n" for line in text.splitlines()
    ),
    "nodes and ranks of PALS": lambda text: "".join(
        f"x1c0b0.site 0: {line}\n" for line in text.splitlines()
    ),
    "ranks of mpiexec": lambda text: "".join(
        f"[0] {line}\n" for line in text.splitlines()
    ),
    "a log of UCX and libfabric": lambda text: "".join(
        LOG + line for line in text.splitlines(keepends=True)
    ),
    "a signal": lambda text: text.rstrip("\n") + f"{SIGNAL}\n",
}

#: Files that a program writes, which no launcher adds lines to.
FILES = ("csv",)


@pytest.mark.parametrize(
    "parser, mark",
    [
        (parser, mark)
        for parser in WHOLE
        for mark in MARKS
        if not (parser in FILES and mark.startswith("lines before"))
    ],
)
def test_every_parser_reads_through_marks(parser, mark):
    whole = WHOLE[parser]
    found, expected = (
        re.sub(r"line=\d+", "", repr(whole.parse(text)))
        for text in (MARKS[mark](whole.text), whole.text)
    )
    assert found == expected


def test_what_stays():
    assert plain.cleaned("\x1b[2Jn1\n") == "\x1b[2Jn1\n"
    assert plain.cleaned("n\x1b[31m1\n") == "n\x1b[31m1\n"
    assert plain.cleaned("0: a\n0:\n1 b\n") == "0: a\n0:\n1 b\n"
    assert plain.cleaned("a\x85b\u2028c\x0bd\n") == "a\ufffdb\ufffdc\ufffdd\n"
    assert (
        plain.cleaned("[1,0]<stdout>:  two blanks\n[1,0]<stdout>:\n")
        == "  two blanks\n\n"
    )


def test_operations_that_were_not_done_are_no_measurement():
    line = (
        "[1795716221.631222] [n2:19   :0]        amo_send.c:183  UCX  ERROR invalid atomic operation"
        " datatype: 0x8"
    )
    with refused(
        r"UCX did not do the atomic operations.*datatype: 0x8'; .*OMPI_MCA_osc=\^ucx"
    ):
        plain.cleaned(f"# Size\n{line}\n1     8821.71\n")
    assert plain.cleaned(line.replace("invalid", "posted an") + "\n1\n") == "1\n"


def test_parsers_are_attributes_of_their_package_and_nothing_else_is():
    assert parsers.npb.parse is not None
    with pytest.raises(
        AttributeError, match=r"'fabric_checks\.parsers' has no attribute 'nosuch'"
    ):
        parsers.nosuch  # noqa: B018  (reading it is the test)
