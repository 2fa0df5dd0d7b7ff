# SPDX-License-Identifier: BSD-3-Clause
"""What an environment lacks is reported if the run asks for it."""

import sys

import pytest

from fabric_checks.core.families import COLLECTIVES
from fabric_checks.core.levels import Levels
from fabric_checks.reframe_ext import asking


@pytest.mark.parametrize(
    ("line", "kernels", "gather"),
    [
        ("-r", True, True),
        ("-n Kernel -r", True, False),
        ("-n ^Gather.*%size=8 -r", False, True),
        ("-n Imb -r", False, False),
        ("-n ^.*nel|^Gather.*x -r", True, True),
        ("-t collectives -r", False, True),
        ("--mode smoke -r", False, True),
        ("--mode=procurement", True, False),
        ("--mode acceptance", True, True),
        ("--mode smoke -n Kernel", False, False),
        ("-n ( -r", True, True),
        ("-n", True, True),
    ],
)
def test_it_is_asked_for_by_names_tags_and_levels(monkeypatch, line, kernels, gather):
    monkeypatch.setattr(asking, "_CHECKS", {})
    common = {"tags": set(), "needs_of": {}, "family": COLLECTIVES}
    made = type("Kernel", (), common | {"family": "Others", "levels": Levels(procurement=True)})
    made.needed = lambda: ("mpi", "npb")
    asking.note_needs(made)
    made = type("Gather", (), common | {"levels": Levels(nightly=True), "needs_of": {"name": {"x": ("osu_c",)}}})
    made.needed = lambda: ("mpi",)
    asking.note_needs(made)
    monkeypatch.setattr(sys, "argv", ["reframe", *line.split()])
    assert (asking.is_asked_for("npb"), asking.is_asked_for("osu_c")) == (kernels, gather)
