# SPDX-License-Identifier: BSD-3-Clause
"""The quick tests start no program, and those that are left out are there."""

import os

import pytest

from tests import quick
from tests.conftest import GUARD, TESTS


def is_quick(name):
    assert (TESTS / name).exists(), name
    return quick.is_quick(TESTS / name)


def test_what_is_quick():
    assert is_quick("parsers/test_osu.py")
    assert is_quick("analysis/test_curves.py")
    assert is_quick("test_quick.py")
    # By its own import, by a module of the tests, and by the conftest.py of its folder.
    for name in (
        "test_end_to_end.py",
        "cluster/test_cost.py",
        "cluster/test_spec.py",
        "report/test_values.py",
    ):
        assert not is_quick(name), name


def test_there_is_much_that_is_quick_and_all_that_is_left_out_exists():
    modules = sorted(TESTS.rglob("test_*.py"))
    assert 50 < sum(map(quick.is_quick, modules)) < len(modules)
    for name in quick.LEFT_OUT:
        assert (TESTS / name).exists(), name


def test_a_quick_test_cannot_start_a_program():
    """This is one."""
    assert GUARD.refuses
    with pytest.raises(AssertionError, match="a quick test starts 'true'"):
        os.system("true")
    with pytest.raises(AssertionError, match="a quick test starts 'true'"):
        os.posix_spawn("/bin/true", ["true"], {})
