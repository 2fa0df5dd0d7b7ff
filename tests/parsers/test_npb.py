# SPDX-License-Identifier: BSD-3-Clause
"""The parser of NPB outputs."""

import re

import pytest

from fabric_checks.parsers import npb
from tests.breakages import refused


@pytest.mark.parametrize("benchmark", ["is", "ft"])
@pytest.mark.parametrize("problem_class", ["A", "B", "C"])
def test_every_class(golden, benchmark, problem_class):
    text = golden(f"npb/3.4/{benchmark}.{problem_class}.2.txt")
    output = npb.parse(text, benchmark, problem_class, 2)
    assert output.version == "3.4"
    assert output.processes == 2
    line = next(line for line in text.splitlines() if line.startswith(" Mop/s total"))
    assert output.Mop_per_s == float(line.split()[-1])


def test_a_patch_release_has_the_banner_of_its_release(golden):
    text = golden("npb/3.4.3/is.A.1.txt")
    output = npb.parse(text, "is", "A", 1)
    assert output.version == "3.4.3"
    assert output.time_s == 0.19
    assert output.Mop_per_s == 434.75
    with refused(r"version '3\.4' began it and '3\.40' ended it"):
        npb.parse(text.replace("3.4.3", "3.40"), "is", "A", 1)


@pytest.mark.parametrize(
    "benchmark, old, new, message",
    [
        ("is", "SUCCESSFUL", "UNSUCCESSFUL", "Verification is 'UNSUCCESSFUL'"),
        ("ft", " Verification ", " Verificatio ", "Verification is 'missing'"),
        ("is", "Benchmark Completed", "Benchmark Comp", "did not finish"),
        ("ft", " Time in seconds ", " Time ", "'missing' is not a number"),
        (
            "ft",
            r"(?<=Time in seconds =)( +)\d",
            r"\g<1>9",
            "6 iterations of size '256x 256x 128' in",
        ),
        (
            "is",
            r"(?<=Iterations      =) +10",
            " 10.5",
            "a number of Iterations was expected",
        ),
        (
            "is",
            r"(?<=Size            =) +8388608",
            " 8,388,608",
            "where its report has '8,388,608'",
        ),
    ],
)
def test_broken_outputs_are_refused(golden, benchmark, old, new, message):
    text = golden(f"npb/3.4/{benchmark}.A.2.txt")
    broken = re.sub(old, new, text)
    assert broken != text
    with refused(message):
        npb.parse(broken, benchmark, "A", 2)


@pytest.mark.parametrize(
    "asked, message",
    [
        (("is", "B", 2), "Class is 'A', expected 'B'"),
        (("is", "A", 4), "Total processes is '2', expected '4'"),
        (("ft", "A", 2), "expected the output of FT, found that of 'IS'"),
    ],
)
def test_another_problem_is_refused(golden, asked, message):
    with refused(message):
        npb.parse(golden("npb/3.4/is.A.2.txt"), *asked)


def test_a_time_that_is_rounded_to_nothing_is_refused(golden):
    """Class S of IS takes less than the two decimals show."""
    with refused("Time in seconds is 0; it must be positive"):
        npb.parse(golden("npb/3.4/is.S.2.txt"), "is", "S", 2)


def test_the_report_of_a_run_before_is_not_taken(golden):
    text = golden("npb/3.4/is.A.2.txt")
    report = text[text.index(" IS Benchmark Completed") :]
    with refused("no whole report 'IS Benchmark Completed'"):
        npb.parse(report + text[: text.index(" IS Benchmark Completed")], "is", "A", 2)


def test_the_report_may_have_blank_lines_and_no_others(golden):
    text = golden("npb/3.4/is.A.2.txt")
    place = text.index(" Iterations      =")
    assert npb.parse(f"{text[:place]}\n{text[place:]}", "is", "A", 2) == npb.parse(
        text, "is", "A", 2
    )
    with refused("no whole report"):
        npb.parse(f"{text[:place]} slurmstepd: error\n{text[place:]}", "is", "A", 2)
