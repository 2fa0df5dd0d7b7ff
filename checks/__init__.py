# SPDX-License-Identifier: BSD-3-Clause
"""The checks: what `reframe -c checks -r` loads."""

import runpy
import sys
from pathlib import Path

from reframe.core.exceptions import ConfigError

_HERE = Path(__file__).resolve().parent.parent
# In a shell that has sourced another clone's ci/env.sh, ReFrame takes the configuration of that, with its
# library.
_THERE = (
    Path(sys.modules["fabric_checks"].__file__).resolve().parents[2]
    if "fabric_checks" in sys.modules
    else _HERE
)
if _HERE != _THERE:
    sys.exit(
        f"error: these checks belong to {_HERE}, but the configuration belongs to {_THERE}: source"
        f" {_HERE}/ci/env.sh"
    )
# With a site's own settings nothing has found the library yet. ReFrame goes on after any error of a test file
# but this.
try:
    runpy.run_path(str(_HERE / "config/library.py"))
    from fabric_checks.reframe_ext import own_settings

    own_settings.adopt()
except ConfigError as error:
    sys.exit(f"error: {error}")
