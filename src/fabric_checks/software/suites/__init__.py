# SPDX-License-Identifier: BSD-3-Clause
"""The suites: what environments may offer of each, and how it is built.

Each module here, and each ``__init__.py`` of a folder of ``checks`` that has one, defines ``SUITE``; a module
also has functions that describe an installation for the configuration. The names that a configuration may
use, the packages that Spack builds and the fixtures that build them for the checks are made from that.
"""

import runpy
from importlib import import_module
from pkgutil import iter_modules

from fabric_checks.core.paths import ROOT
from fabric_checks.software.suite import Suite

_MODULES = (
    vars(import_module(f"{__name__}.{module.name}"))
    for module in iter_modules(__path__)
)
_OF_CHECKS = (
    runpy.run_path(str(path))
    for path in sorted((ROOT / "checks").glob("*/__init__.py"))
)

#: All suites by name, in the order of their files.
SUITES: dict[str, Suite] = {
    suite.name: suite
    for suite in (defined.get("SUITE") for defined in (*_MODULES, *_OF_CHECKS))
    if suite
}

#: The packages of `spack-envs` by name.
PACKAGES = {
    suite.package.name: suite.package for suite in SUITES.values() if suite.package
}
