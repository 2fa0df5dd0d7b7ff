# SPDX-License-Identifier: BSD-3-Clause
"""Write a recorded run, see the package."""

import sys
from pathlib import Path

from fabric_checks.records import runs
from tests.report.recorded import packed

print(packed(runs.load_session(Path(sys.argv[1]), sys.argv[2])))
