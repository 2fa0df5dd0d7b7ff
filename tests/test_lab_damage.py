# SPDX-License-Identifier: BSD-3-Clause
"""Damaged outputs of every parser, and harmless changes: a small sample of what lab/parsers does by the million."""

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
    """A parser that compares all positions with each other takes minutes here, and is ended as one that hangs."""
    whole = damage.outputs(program)[0]
    lines = whole.text.split("\n")
    for at in (0, len(lines) // 2):
        text = "\n".join([*lines[:at], lines[at] + more * (300_000 // len(more)), *lines[at + 1 :]])
        assert damage.parsed(whole, text)[0] in ("refused", "accepted")


@pytest.mark.parametrize(
    ("program", "old", "new", "expected"),
    [
        ("osu", "1.12              0.00              1.51 ", "9.12              0.00              1.51 ", "sum"),
        ("start-up", "max: 33 ms", "max: 43 ms", "order"),
        ("imb", " 640         6.12 ", " 6400        6.12 ", "repetitions"),
        ("lammps", "-5.7585055 ", "-5.7584055 ", "energy"),
        ("npb", "4178.26", "4187.26", "rate"),
        ("ls_dyna", "Elapsed time     101", "Elapsed time     202", "time"),
        ("streaming", " 8.64111 5.9265 13.2801 19 cap", " 8.64111 5.9265 13.2801 19 ci", "stop"),
        ("overlap", " 57.1401 ", " 57.1041 ", "availability"),
        ("collective_overlap", " 4.97045 0.210222 8 knee", " 4.97045 0.210222 83 knee", "stop"),
        ("hot_spot", " 31.6145 4.12034 ", " 31.6145 41.2034 ", "interval"),
        ("buffer_reuse", " 92 cap", " 92000 cap", "time"),
        ("notification", "used 44 % of", "used 4 % of", "waits"),
        ("latency_map", "elapsed: 1.3395 s", "elapsed: 0.13395 s", "time"),
        ("rotate", "1 1 6 81.8648 scan", "1 1 6 0.818648 scan", "time"),
        ("placement", "1 hosta n2 1 1 ", "1 hosta n2 1 0 ", "cpus"),
    ],
)
def test_oracle_names_what_an_output_contradicts(program, old, new, expected):
    texts = [whole.text for whole in damage.outputs(program) if old in whole.text]
    assert texts
    found = contradictions(program, texts[0].replace(old, new, 1))
    assert expected in {sentence.partition(":")[0] for sentence in found}, found
