# SPDX-License-Identifier: BSD-3-Clause
"""The one ReFrame configuration: all systems and environments in the folders next to it."""

import runpy
from pathlib import Path

HERE = Path(__file__).resolve().parent
runpy.run_path(str(HERE / "library.py"))

from fabric_checks.reframe_ext.site_configuration import configuration  # noqa: E402  (now it is found)
from fabric_checks.schedulers import reservations  # noqa: E402

site_configuration = configuration(HERE, reservations.apply)
