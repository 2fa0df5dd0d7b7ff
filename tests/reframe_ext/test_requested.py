# SPDX-License-Identifier: BSD-3-Clause
"""What an environment lacks is reported if the run asks for it."""

import sys

import pytest

from fabric_checks.reframe_ext import requested


@pytest.mark.parametrize(
    ("line", "npb", "osu"),
    [
        ("-r", True, True),
        ("-n Npb -r", True, False),
        ("-n ^OsuGather.*%size=8 -r", False, True),
        ("-n Imb -r", False, False),
        ("-n ^Npb|^OsuGather -r", True, True),
        ("-n Imb -n npb", True, False),
        ("-t collectives -r", True, True),
        ("--mode smoke -n NpbKernel", True, False),
        ("-n", True, True),
    ],
)
def test_a_suite_is_asked_for_unless_names_are_of_others(monkeypatch, line, npb, osu):
    monkeypatch.setattr(sys, "argv", ["reframe", *line.split()])
    assert (requested.is_asked_for("npb"), requested.is_asked_for("osu_c")) == (npb, osu)
