# SPDX-License-Identifier: BSD-3-Clause
"""The suites, a file for each.

A file defines ``SUITE``, and functions that describe an installation of it for the configuration. The fixtures that
build it, its environments by Spack and the names in the configuration all follow from that.
"""

from importlib import import_module
from pkgutil import iter_modules

from fabric_checks.software.suite import Suite

#: All suites by name, in the order of their files.
SUITES: dict[str, Suite] = {
    suite.name: suite
    for suite in (import_module(f"{__name__}.{module.name}").SUITE for module in iter_modules(__path__))
}

#: The packages of `spack-envs` by name.
PACKAGES = {suite.package.name: suite.package for suite in SUITES.values() if suite.package}
