# SPDX-License-Identifier: BSD-3-Clause
"""What a check needs of Python beyond ReFrame: asked for before its job is submitted."""

from __future__ import annotations

from reframe.core.builtins import run_after
from reframe.core.exceptions import EnvironError
from reframe.core.pipeline import RegressionTestPlugin

from fabric_checks.software import packages


class PackagesMixin(RegressionTestPlugin):
    """Fail a case whose values cannot be computed, before it takes nodes for them."""

    #: Python packages beyond ReFrame's own that the values need, and what for.
    packages: tuple[str, ...] = ()
    packages_for = ""

    @run_after("setup")
    def require_packages(self):
        """Ask for them.

        :raises EnvironError: for those that are not there, with the line that installs them.
        """
        if self.is_dry_run():
            return  # nothing is going to be computed
        try:
            packages.require(self.packages, f"{type(self).__name__} needs them {self.packages_for}")
        except packages.MissingPackageError as error:
            raise EnvironError(str(error)) from None
