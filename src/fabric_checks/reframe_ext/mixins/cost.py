# SPDX-License-Identifier: BSD-3-Clause
"""How long the job of a case worked: measured by its script and noted in its records."""

from __future__ import annotations

import re
from pathlib import Path

from reframe.core.builtins import run_before
from reframe.core.pipeline import RegressionTestPlugin

#: The files in the job's folder with the host and its uptime at the beginning and at the end of the script.
BEFORE, AFTER = "cost-before.txt", "cost-after.txt"
#: What a job script begins with; nothing of it can fail the job or change its exit status.
SCRIPT_LINES = (
    "fabric_folder=$PWD",
    'fabric_snapshot() { { uname -n; cat /proc/uptime; } > "$fabric_folder/$1"; } 2> /dev/null',
    f"trap 'fabric_snapshot {AFTER}' EXIT",
    f"fabric_snapshot {BEFORE} || :",
)


class CostMixin(RegressionTestPlugin):
    """Note how long the job worked on its nodes, ``elapsed_s``.

    It is null where it cannot be determined, and fails nothing. A simulation's job is the simulator: its time is that
    of the host.

    Needs: ``facts`` (:class:`ResultsMixin`).
    """

    @run_before("run", always_last=True)
    def take_snapshots(self):
        """Begin the job script with what notes the host's uptime, then and however the script ends."""
        self.prerun_cmds = [*SCRIPT_LINES, *self.prerun_cmds]

    @run_before("sanity")
    def note_time(self):
        """Note how long the job worked, also where a later hook finds its output wanting."""
        if self.is_dry_run():
            return
        try:
            before, after = ((Path(self.stagedir) / name).read_text(errors="replace") for name in (BEFORE, AFTER))
        except OSError:
            return  # the job ended before its first line, or was killed
        # ReFrame and schedulers end a job soon after its limit; twice that is another job's time.
        limit_s = 2 * self.time_limit if self.time_limit else None
        self.facts.elapsed_s = elapsed_s(before, after, limit_s)


def elapsed_s(before: str, after: str, at_most_s: float | None = None) -> float | None:
    """Return the seconds between two snapshots, or None if they cannot tell.

    Uptimes are used, as no correction of the clock changes them.

    :param before, after: the host's name on one line and ``/proc/uptime`` on the next.
    :param at_most_s: a time that no job takes, such as a multiple of its time limit.
    """
    one, other = (re.match(r"(\S+)\n(\d+\.\d+) \d+\.\d+\n", text) for text in (before, after))
    if not one or not other or one[1] != other[1]:
        return None
    elapsed = round(float(other[2]) - float(one[2]), 2)
    return elapsed if elapsed >= 0 and (at_most_s is None or elapsed <= at_most_s) else None
