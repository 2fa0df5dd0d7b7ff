# SPDX-License-Identifier: BSD-3-Clause
"""Ask a tool of the machine, and wait for it no longer, and read of it no more, than an answer may take."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

#: How long a tool may take, and how much it may say: that of `scontrol show node` for 20,000 nodes would fit.
LIMIT_S = 20.0
LIMIT_B = 32 << 20


@dataclass
class Machine:
    """The machine that this runs on.

    :param root: of its file system; :param variables: the environment of its tools.
    :param asked: each command that was run, with what came of it: ``ok``, or why there is no answer.
    """

    root: Path = Path("/")
    variables: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    limit_s: float = LIMIT_S
    limit_B: int = LIMIT_B
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
        """Return what a tool prints, on both streams, or None if it is not there, fails, or takes too long.

        What is none of its character set comes as ``?``. Its standard input is empty; it speaks English.
        """
        if not self.has(command[0]):
            return None
        text, fault = self._run(command)
        self.asked[" ".join(command)] = fault or "ok"
        return None if fault else text

    def _run(self, command: Sequence[str]) -> tuple[str, str]:
        output, deadline = bytearray(), time.monotonic() + self.limit_s
        env = {**self.variables, "LC_ALL": "C"}
        with subprocess.Popen(
            command, env=env, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:  # fmt: skip
            try:
                fault = self._read(process, output, deadline)
                if not fault and process.wait(max(0.1, deadline - time.monotonic())) != 0:
                    last = output.decode(errors="replace").strip().splitlines()[-1:]
                    fault = f"exit status {process.returncode}" + (f": {last[0]}" if last else "")
            except subprocess.TimeoutExpired:
                fault = f"no answer within {self.limit_s:g} s"
            finally:
                # What it has started goes with it, if it is still there.
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        return output.decode(errors="replace"), fault

    def _read(self, process: subprocess.Popen[bytes], output: bytearray, deadline: float) -> str:
        assert process.stdout is not None
        descriptor = process.stdout.fileno()
        while True:
            ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                return f"no answer within {self.limit_s:g} s"
            part = os.read(descriptor, 1 << 16)
            if not part:
                return ""
            output += part
            if len(output) > self.limit_B:
                return f"more than {self.limit_B >> 20} MiB"

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
            return sorted(entry.name for entry in (self.root / path.lstrip("/")).iterdir())
        except OSError:
            return []
