# SPDX-License-Identifier: BSD-3-Clause
"""Find the library of the clone that this file is in, and register what ReFrame has of it: schedulers,
launchers, logs.

``settings.py`` and ``checks/__init__.py`` run this file, whichever of them ReFrame loads first.
"""

# ruff: noqa: E402  (the library has to be found before it is imported)

import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

from reframe.core.exceptions import ConfigError

HERE = Path(__file__).resolve().parent


def take_library(name):
    """Load a package of the clone that this file is in: it is installed nowhere, and a shell may have
    another's.

    A copy of this folder elsewhere takes the one that Python finds. (sys.path must not grow while ReFrame
    loads this: it then removes by position what it has appended, and would remove another folder.)
    """
    package = HERE.parent / "src" / name / "__init__.py"
    if name not in sys.modules and package.is_file():
        spec = spec_from_file_location(name, package)
        sys.modules[name] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    elif find_spec(name) is None:
        raise ConfigError(
            f"{HERE}: the library {name} is neither in this clone nor where Python looks"
        )
    loaded = Path(sys.modules[name].__file__) if name in sys.modules else package
    if package.is_file() and loaded.resolve() != package:
        raise ConfigError(
            f"{HERE}: the library in use belongs to another clone, {loaded.parent}"
        )


for library in ("fabric_checks", "fabric_profile", "fabric_twins"):
    take_library(library)

from fabric_checks.reframe_ext import internals

internals.require_reframe()

# All but the one of `ci/run --one-job`, which needs packages that a site's own ReFrame may lack.
from fabric_checks.schedulers import launchers, local  # noqa: F401  (both register)
from fabric_checks.schedulers.flux import scheduler as flux  # noqa: F401
from fabric_checks.schedulers.lsf import scheduler as lsf  # noqa: F401
from fabric_checks.schedulers.pbs import scheduler as pbs  # noqa: F401
from fabric_checks.schedulers.slurm import scheduler as slurm  # noqa: F401
