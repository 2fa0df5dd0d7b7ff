# SPDX-License-Identifier: BSD-3-Clause
"""Run tools of the machine, each for a limited time."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

#: The longest run of a tool.
LIMIT_S = 20.0


@dataclass
class Machine:
    """The machine that this runs on.

    :param root: the root of its file system; :param variables: the environment of its tools.
    :param asked: the commands that were run, each with ``ok`` or its fault.
    """

    root: Path = Path("/")
    variables: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    limit_s: float = LIMIT_S
    asked: dict[str, str] = field(default_factory=dict)

    def has(self, tool: str) -> bool:
        """Tell whether a tool is on PATH."""
        return shutil.which(tool, path=self.variables.get("PATH")) is not None

    def prefix_of(self, tool: str) -> str:
        """Return the folder whose ``bin`` has a tool of PATH; nothing if it is not in such a one."""
        found = shutil.which(tool, path=self.variables.get("PATH"))
        folder = Path(found).parent if found else Path()
        return str(folder.parent) if found and folder.name == "bin" else ""

    def ask(self, *command: str) -> str | None:
        """Return the output of a tool, of both streams, or None if it is not there, fails, or takes too long.

        Bytes that are not UTF-8 are replaced. Its standard input is empty, its language English.
        """
        if not self.has(command[0]):
            return None
        text, fault = self._run(command)
        self.asked[" ".join(command)] = fault or "ok"
        return None if fault else text

    def _run(self, command: Sequence[str]) -> tuple[str, str]:
        """Return the output of a command, and its fault or an empty text."""
        # A file and no pipe: what the tool has started may hold a pipe open.
        with tempfile.TemporaryFile() as output:
            try:
                done = subprocess.run(
                    command, env={**self.variables, "LC_ALL": "C"}, cwd="/", stdin=subprocess.DEVNULL,
                    stdout=output, stderr=subprocess.STDOUT, timeout=self.limit_s, check=False,
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                return "", f"no answer within {self.limit_s:g} s"
            output.seek(0)
            text = output.read().decode(errors="replace")
        if not done.returncode:
            return text, ""
        last = text.strip().splitlines()[-1:]
        return text, ": ".join([f"exit status {done.returncode}", *last])

    def read(self, path: str) -> str:
        """Return the beginning of a file of the system, below :attr:`root`; nothing if it cannot be read."""
        try:
            with (self.root / path.lstrip("/")).open(errors="replace") as file:
                return file.read(4096)
        except OSError:
            return ""

    def listed(self, path: str) -> list[str]:
        """Return the names in a folder, in order; none if there is no such folder."""
        try:
            return sorted(
                entry.name for entry in (self.root / path.lstrip("/")).iterdir()
            )
        except OSError:
            return []
