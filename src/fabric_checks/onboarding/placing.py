# SPDX-License-Identifier: BSD-3-Clause
"""Put the files of a site where they belong, beside what is there and never over it; and try them."""

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

CONFIG = ROOT / "config"


def is_free(name: str, config: Path = CONFIG) -> bool:
    """Tell whether a system can be called so: no file, no folder and no simulated system has the name."""
    places = (f"systems/{name}.py", f"systems/{name}", f"references/{name}.yaml", f"twins/{name}.yaml")
    return name != "twins" and not any((config / place).exists() for place in places)


def place(files: Mapping[str, str], config: Path = CONFIG) -> list[Path]:
    """Write files below a folder, and return where they are; all or none of them, and none that is there.

    :raises FabricError: if one is there already, or cannot be written.
    """
    made: list[Path] = []
    try:
        for name, text in files.items():
            path = config / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x") as file:
                made.append(path)
                file.write(text)
    except OSError as error:
        for path in made:
            path.unlink(missing_ok=True)
            for folder in path.relative_to(config).parents:
                if not any((config / folder).iterdir()):
                    (config / folder).rmdir()
        what = "already exists and is left unchanged" if isinstance(error, FileExistsError) else error.strerror
        raise FabricError(f"{error.filename}: {what}; nothing was written") from None
    return made


def dry_run(system: str, mpi: str) -> str:
    """Let ReFrame go through the smoke level of a system without running it, and return how many cases there are.

    :param mpi: which wheels are meant, as FABRIC_MPI has it.
    :raises FabricError: with what ReFrame says, if it does not come to its end.
    """
    beside = Path(sys.executable).with_name("reframe")
    reframe = str(beside) if beside.exists() else shutil.which("reframe")
    if reframe is None:
        raise FabricError(f"no reframe beside {sys.executable} nor on PATH; `. ci/env.sh` provides one")
    with tempfile.TemporaryDirectory() as results:
        env = {key: value for key, value in os.environ.items() if not key.startswith("RFM_")}
        env |= {"FABRIC_RESULTS": results, "FABRIC_MPI": mpi, "RFM_COLORIZE": "no"}
        env.pop("FABRIC_STACK", None)
        command = [reframe, "-C", str(CONFIG / "settings.py"), "-c", str(ROOT / "checks"), "--system", system]
        command += ["--mode=smoke", "--dry-run"]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    ran = re.search(r"Ran (\d+)/(\d+) test case", done.stdout)
    if done.returncode or ran is None or ran[1] != ran[2] or ran[1] == "0":
        said = [line for line in (done.stdout + done.stderr).splitlines() if re.search("error|Reason", line)]
        raise FabricError(
            f"the dry run of {system} failed: {quoted((said or ['it ran no case'])[-1].strip(), 400)}; fix "
            f"config/systems/{system}.py, or remove it, and try `ci/run --system {system} --mode smoke --dry-run`"
        )
    return ran[1]
