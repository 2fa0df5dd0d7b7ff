# SPDX-License-Identifier: BSD-3-Clause
"""Write the files of a site without replacing any, and try them in a dry run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from fabric_checks.core.errors import FabricError, quoted
from fabric_checks.core.paths import ROOT
from fabric_checks.onboarding.facts import Mpi
from fabric_checks.onboarding.probe import Machine

CONFIG = ROOT / "config"


def is_free(name: str, config: Path = CONFIG) -> bool:
    """Tell whether a system can be called so: no file, no folder and no simulated system has the name."""
    paths = (
        f"systems/{name}.py",
        f"systems/{name}",
        f"references/{name}.yaml",
        f"twins/{name}.yaml",
    )
    return name != "twins" and not any((config / path).exists() for path in paths)


def write(files: Mapping[str, str], config: Path = CONFIG) -> list[Path]:
    """Write files below a folder, and return where they are; none if one is there already.

    :raises FabricError: if one is, or cannot be written.
    """
    paths = {config / name: text for name, text in files.items()}
    for path in filter(Path.exists, paths):
        raise FabricError(
            f"{path}: already exists and is left unchanged; nothing was written"
        )
    try:
        for path, text in paths.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    except OSError as error:
        raise FabricError(
            f"{error.filename}: {error.strerror}; delete what was written of this system below {config}"
        ) from None
    return list(paths)


def load_modules(machine: Machine, mpi: Mpi) -> str:
    """Load the modules of an MPI in a login shell, as jobs do; return what is wrong then, or nothing.

    Nothing is wrong if its compiler is on PATH.
    """
    load = f"module load {' '.join(mpi.modules)}"
    has_cc = (
        f"{{ command -v {mpi.cc} || {{ echo no {mpi.cc} is on PATH then; false; }}; }}"
    )
    text = machine.ask("bash", "--login", "-c", f"{{ {load} && {has_cc}; }} 2>&1")
    return f"`{load}`: {list(machine.asked.values())[-1]}" if text is None else ""


def dry_run(system: str, mpi: str) -> str:
    """Let ReFrame go through the smoke level of a system without running it, and return how many cases there
    are.

    :param mpi: which wheels are meant, as FABRIC_MPI has it.
    :raises FabricError: with ReFrame's own line, if it fails.
    """
    path = os.pathsep.join(
        [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    )
    reframe = shutil.which("reframe", path=path)
    if reframe is None:
        raise FabricError(
            f"no reframe next to {sys.executable} nor on PATH; `. ci/env.sh` provides one"
        )
    with tempfile.TemporaryDirectory() as results:
        kept = {
            key: os.environ[key] for key in os.environ if not key.startswith("RFM_")
        }
        own = {"FABRIC_RESULTS": results, "FABRIC_MPI": mpi, "FABRIC_STACK": ""}
        settings, checks = str(CONFIG / "settings.py"), str(ROOT / "checks")
        command = [reframe, "-C", settings, "-c", checks, "--system", system]
        command += ["--mode=smoke", "--dry-run"]
        done = subprocess.run(
            command,
            env=kept | own | {"RFM_COLORIZE": "no"},
            capture_output=True,
            text=True,
            check=False,
        )
    ran = re.search(r"Ran (\d+)/(\d+) test case", done.stdout)
    if done.returncode or ran is None or ran[1] != ran[2] or ran[1] == "0":
        raise FabricError(
            f"the dry run of {system} failed: {quoted(_reason(done.stdout + done.stderr), 400)}; fix"
            f" config/systems/{system}.py, or remove it, and try `ci/run --system {system} --mode smoke"
            " --dry-run`"
        )
    return ran[1]


def _reason(output: str) -> str:
    """Return ReFrame's own reason of a failed run: of the first case that failed, or else its error."""
    if match := re.search(r"\* Reason: (.*?)\n(-{40}|\Z)", f"{output}\n", re.DOTALL):
        lines = [
            line
            for line in match[1].splitlines()
            if not re.fullmatch(r"--- std(out|err) ---", line)
        ]
        return " ".join(" ".join(lines).split())
    match = re.search(r"\w*error: .*", output, re.IGNORECASE)
    return match[0] if match else "it ran no case"
