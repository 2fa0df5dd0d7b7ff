# SPDX-License-Identifier: BSD-3-Clause
"""Damaged outputs of every parser, and harmless changes: a small sample of what lab/parsers does by the
million."""

import signal

import pytest

from lab.parsers import damage
from lab.parsers.contradictions import contradictions


@pytest.fixture(autouse=True)
def alarm():
    """Have a parser that hangs counted as one that crashes."""
    before = signal.signal(signal.SIGVTALRM, damage._hang)
    yield
    signal.signal(signal.SIGVTALRM, before)


@pytest.mark.parametrize("program", damage.PROGRAMS)
def test_damage_is_refused_or_cannot_be_told_and_harmless_changes_are_read(program):
    """The trials begin with the whole outputs, which the oracle must not find contradicting."""
    outcomes = list(damage.trials(program, 100, 1))
    assert sum(not trial[0].startswith("harmless") for trial in outcomes) == 100
    wrong = ("crash", "bad message", "contradicting", "harmless not read")
    assert [trial for trial in outcomes if trial[0] in wrong] == []
    assert {"refused", "harmless"} <= {trial[0] for trial in outcomes}


@pytest.mark.parametrize("more", ["1", " ", "a."], ids=["digits", "blanks", "names"])
@pytest.mark.parametrize("program", damage.PROGRAMS)
def test_a_long_line_takes_no_time_that_grows_with_its_square(program, more):
    """A parser that compares all positions with each other takes minutes here, and is ended as one that
    hangs."""
    whole = damage.outputs(program)[0]
    lines = whole.text.split("\n")
    for at in (0, len(lines) // 2):
        text = "\n".join(
            [*lines[:at], lines[at] + more * (300_000 // len(more)), *lines[at + 1 :]]
        )
        assert damage.parsed(whole, text)[0] in ("refused", "accepted")


@pytest.mark.parametrize(
    "program, old, new, expected",
    [
        (
            "osu",
            "1.12              0.00              1.51 ",
            "9.12              0.00              1.51 ",
            "sum",
        ),
        ("start-up", "max: 33 ms", "max: 43 ms", "order"),
        ("imb", " 640         6.12 ", " 6400        6.12 ", "repetitions"),
        ("lammps", "-5.7585055 ", "-5.7584055 ", "energy"),
        ("npb", "4178.26", "4187.26", "rate"),
        (
            "streaming",
            " 8.64111 5.9265 13.2801 19 cap",
            " 8.64111 5.9265 13.2801 19 ci",
            "sum",
        ),
        ("rotate", "complete: 135 rows", "complete: 136 rows", "count"),
    ],
)
def test_oracle_names_what_an_output_contradicts(program, old, new, expected):
    texts = [whole.text for whole in damage.outputs(program) if old in whole.text]
    assert texts
    found = contradictions(program, texts[0].replace(old, new, 1))
    assert expected in {sentence.partition(":")[0] for sentence in found}, found
