# SPDX-License-Identifier: BSD-3-Clause
"""Packages beyond ReFrame's own are required by name."""

import sys

import pytest

from fabric_checks.software import packages
from fabric_checks.software.packages import MissingPackageError


def test_installed_packages_are_accepted():
    packages.require(["json", "re"], "nobody needs them")


def test_a_missing_package_is_named_with_the_command_that_installs_it():
    with pytest.raises(MissingPackageError) as error:
        packages.require(["json", "no_such_a", "no_such_b"], "Rotate needs them to see")
    said = str(error.value)
    assert said.startswith(
        "missing Python packages: no_such_a no_such_b: Rotate needs them to see; "
    )
    assert f"{sys.executable} -m pip install no_such_a no_such_b (" in said
