# SPDX-License-Identifier: BSD-3-Clause
"""The checks: what `reframe -c checks -r` loads."""

import sys
from pathlib import Path

from fabric_checks.core.paths import ROOT

# In a shell that has sourced another clone's ci/env.sh, ReFrame takes the configuration of that, with its library.
_HERE = Path(__file__).resolve().parent.parent
if _HERE != ROOT:
    sys.exit(
        f"error: these checks belong to {_HERE}, but the configuration belongs to {ROOT}: source {_HERE}/ci/env.sh"
    )
