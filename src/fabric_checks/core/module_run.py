# SPDX-License-Identifier: BSD-3-Clause
"""Run a module of this clone in a process of its own, as ReFrame has one system a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from fabric_checks.core.errors import ChoiceError, FabricError
from fabric_checks.core.paths import LIBRARY, ROOT


def written_by(
    module: str,
    subject: str,
    *words: str,
    failed: str,
    timeout_s: float | None = None,
    **variables: str,
) -> Any:
    """Return what a module writes as JSON; it is called with a subject, the file to write, and more words.

    :param failed: how the message of a failure begins. :param variables: of the environment.
    :raises ChoiceError: if it ends with that status.
    :raises FabricError: with the last line of what the module printed, if it wrote nothing.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "found.json"
        # The set-up of cases creates folders; MPIs that a run leaves out count too.
        own = {
            "FABRIC_RESULTS": folder,
            "PYTHONPATH": str(LIBRARY),
            "FABRIC_MPI": "all",
        }
        if os.environ.get("FABRIC_MPI") == "none":
            own["FABRIC_MPI"] = "none"
        command = [sys.executable, "-m", module, subject, str(path), *words]
        try:
            done = subprocess.run(
                command,
                env=os.environ | own | variables,
                cwd=ROOT,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                timeout=timeout_s,
            )
        except subprocess.TimeoutExpired:
            raise FabricError(
                f"{failed}: not within {timeout_s:g} s; something in what it reads is odd"
            ) from None
        if done.returncode or not path.exists():
            lines = (done.stderr or done.stdout).strip().splitlines()
            kind = ChoiceError if done.returncode == ChoiceError.status else FabricError
            raise kind(f"{failed}: {lines[-1] if lines else 'no reason is given'}")
        return json.loads(path.read_text())
