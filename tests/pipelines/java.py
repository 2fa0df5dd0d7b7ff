# SPDX-License-Identifier: BSD-3-Clause
"""Where Java is."""

import os
import shutil
from pathlib import Path


def java_home():
    """Return JAVA_HOME, or the folder of the `java` on PATH; None if there is none."""
    java = shutil.which("java")
    return os.environ.get("JAVA_HOME") or (java and str(Path(java).resolve().parents[1]))
