# SPDX-License-Identifier: BSD-3-Clause
"""Write a recorded run, see the package."""

import sys
from pathlib import Path

from fabric_checks.records import runs as records
from tests.report.recorded import packed

print(packed(records.load_session(Path(sys.argv[1]), sys.argv[2])))
