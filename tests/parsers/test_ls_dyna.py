# SPDX-License-Identifier: BSD-3-Clause
"""The parser of MPP-DYNA, on made-up outputs."""

import pytest

from fabric_checks.core.errors import OutputError
from fabric_checks.parsers import ls_dyna
from tests.breakages import refused
from tests.parsers import dyna


def test_a_run():
    found = ls_dyna.parse(dyna.output(4), 4)
    assert found.version == "d R13"
    assert found.processes == 4
    assert found.cycles == 20000
    assert found.elapsed_s == 101
    assert found.clock_s == {name: seconds for name, (seconds, _) in dyna.ROWS.items()}


def test_the_form_of_other_releases():
    newer = dyna.output(8).replace(
        "MPP execution with       8 procs", "Parallel execution with     8 MPP procs"
    )
    newer = newer.replace(
        "seconds(   0 hours  1 min. 41 sec.) for   20000 cycles",
        "seconds for 20000 cycles using 8 MPP procs",
    )
    assert ls_dyna.parse(newer, 8).elapsed_s == 101


def test_it_is_read_from_the_messages_where_they_have_it():
    whole = dyna.output(2)
    short = "\n".join(
        line for line in whole.splitlines() if "Elapsed" not in line
    ).split(" T i m i n g")[0]
    for text in (
        f"{short}\n\n# mes0000\n{whole}",
        f"{whole}\n# mes0000\n{short}",
        f"{whole}\n# mes0000\n{whole}",
    ):
        assert ls_dyna.parse(text, 2).elapsed_s == 101
    with refused("no table 'T i m i n g"):
        ls_dyna.parse(f"{short}\n# mes0000\n{short.replace('MPP execution', 'x')}", 2)
    with refused("2 lines '# mes0000'"):
        ls_dyna.parse(f"{whole}\n# mes0000\n{whole}\n# mes0000\n{whole}", 2)


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("MPP execution with", "MPP execution", "no line 'MPP execution with"),
        (
            "with       4 procs",
            "with       2 procs",
            "4 processes were asked for, found '2'",
        ),
        ("N o r m a l    t e r m", "E r r o r    t e r m", "LS-DYNA says 'E r r o r"),
        ("Elapsed time     101", "Elapsed time       0", "too short to be timed"),
        (
            "Elapsed time     101",
            "Elapsed time     1e2",
            "seconds was expected, found '1e2'",
        ),
        (
            "for   20000 cycles",
            "for   19999 cycles",
            "19999 cycles were timed, but the problem ended with cycle '20000'",
        ),
        ("T i m i n g", "T i m", "no table 'T i m i n g"),
        (
            "5.0000E+00    5.00     5.0000E+00",
            "5.0000E+00    5.00            nan",
            "is not a finite number",
        ),
        ("Rigid Bodies ...", "Other ..........", "a part is in the table twice"),
        ("  T o t a l s", "  T o t a", "no line 'T o t a l s'"),
    ],
)
def test_broken_outputs_are_refused(old, new, message):
    text = dyna.output(4)
    assert old in text
    with refused(message):
        ls_dyna.parse(text.replace(old, new), 4)


def test_any_cut_is_refused():
    text = dyna.output(4)
    last = text.index("cycles\n N o r m a l")
    for end in range(0, last, 7):
        with pytest.raises(OutputError):
            ls_dyna.parse(text[:end], 4)
