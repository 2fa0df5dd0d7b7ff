# SPDX-License-Identifier: BSD-3-Clause
"""Homes and clones for tests that need their own, where nothing is installed."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from fabric_checks.core.paths import ROOT
from fabric_checks.software import installed
from tests import programs
from tests.guard import GUARD_S


def linked(home, *left_out):
    """Make a home of links to the parts that the tests' own home has, but for some."""
    parts = Path(home) / "parts"
    parts.mkdir(parents=True, exist_ok=True)
    for name in installed.PINS:
        if name not in left_out and installed.is_complete(name):
            (parts / installed.folder(name).name).symlink_to(installed.folder(name))
    return Path(home)


#: What ci/setup.py needs of the library.
NEEDED = (
    "__init__",
    "core/__init__",
    "core/errors",
    "core/git",
    "core/locks",
    "core/paths",
    "records/__init__",
    "records/sessions",
    "software/__init__",
    "software/installed",
    "software/stacks",
    "software/suite",
)


class Toy:
    """A clone with the scripts that set up and the library that they need, whose pins are of nothing at
    all."""

    def __init__(self, root, pins="1"):
        self.root = root
        shutil.copytree(
            ROOT / "ci",
            root / "ci",
            ignore=shutil.ignore_patterns("__pycache__", "minicluster"),
        )
        for name in NEEDED:
            place = root / f"src/fabric_checks/{name}.py"
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / f"src/fabric_checks/{name}.py", place)
        self._install_nothing()
        self.pin(pins)

    def _install_nothing(self):
        """Leave pip out, which would take seconds to install nothing."""
        path = self.root / "ci/setup.py"
        text = path.read_text()
        for old, new in (
            ('"-m", "venv",', '"-m", "venv", "--without-pip",'),
            (
                'if __name__ == "__main__":',
                'def pip(*_):\n    pass\n\n\nif __name__ == "__main__":',
            ),
        ):
            assert text.count(old) == 1
            text = text.replace(old, new)
        path.write_text(text)

    def pin(self, text):
        """Let its pins be others: nothing is installed by them, but a fingerprint differs."""
        for path in (self.root / "ci/requirements").glob("*.txt"):
            path.write_text(f"# {text}\n")

    def pin_spack(self, commit):
        """Let the pinned commit of both repositories of Spack be another."""
        path = self.root / "src/fabric_checks/software/installed.py"
        path.write_text(re.sub(r'"[0-9a-f]{40}"', f'"{commit}"', path.read_text()))

    def environment(self, home, **variables):
        """Return the variables of a shell of a user with this home, who has sourced nothing."""
        return {
            "HOME": "/nonexistent", "PATH": "/usr/bin:/bin", "FABRIC_PYTHON": sys.executable,
            "FABRIC_HOME": str(home), "FABRIC_MPI": "none",
        } | variables  # fmt: skip

    def shell(self, home, script, **variables):
        """Start a shell that sources ci/env.sh and goes on with a script."""
        return subprocess.Popen(
            ["bash", "-c", f'. "{self.root}/ci/env.sh" || exit 1\n{script}'],
            env=self.environment(home, **variables), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, cwd=self.root.parent,
        )  # fmt: skip

    def run(self, home, script="", **variables):
        """Do so to its end, and return its exit status and what it printed."""
        process = self.shell(home, script, **variables)
        output, _ = process.communicate(timeout=GUARD_S)
        return process.returncode, output


def checkout(to):
    """Clone what is committed here, and put what is changed or new over it."""
    subprocess.run(
        ["git", "clone", "--quiet", "--shared", str(ROOT), str(to)], check=True
    )
    command = [
        "git",
        "-C",
        str(ROOT),
        "ls-files",
        "-z",
        "--modified",
        "--others",
        "--exclude-standard",
    ]
    for name in programs.run(command, check=True).stdout.split("\0"):
        if name and (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, to / name)
    return to
