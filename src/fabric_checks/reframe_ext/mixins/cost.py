# SPDX-License-Identifier: BSD-3-Clause
"""What a case costs: measured by its job and noted in its records."""

from __future__ import annotations

from pathlib import Path

from reframe.core.builtins import run_after, run_before
from reframe.core.pipeline import RegressionTestPlugin

from fabric_checks.records.cost import counters
from fabric_checks.records.cost.plan import SIMULATED


class CostMixin(RegressionTestPlugin):
    """Note what the job cost: ``elapsed_s``, ``node_traffic_B``, ``disk_B``.

    What cannot be told is null, and fails nothing. A simulation's job is the simulator: its time is that of the host,
    whose links say nothing of it.

    Needs: ``facts`` (:class:`ResultsMixin`), ``hosts`` (:class:`PlacementMixin`).
    """

    @run_before("run", always_last=True)
    def take_snapshots(self):
        """Begin the job's own lines with what notes the state of the node, then and at the end."""
        self.prerun_cmds = [*counters.script_lines(), *self.prerun_cmds]

    @run_before("sanity")
    def note_time(self):
        """Note how long the job worked, also where what follows finds it wanting."""
        self._snapshots = None
        if self.is_dry_run():
            return
        stage = Path(self.stagedir)
        try:
            before, after = (
                counters.parse((stage / name).read_text(errors="replace")) for name in (counters.BEFORE, counters.AFTER)
            )
        except OSError:
            return  # the job ended before its first line, or was killed
        self._snapshots = before, after
        # ReFrame and schedulers end a job soon after its limit; twice that is another job's time.
        limit = 2 * self.time_limit if self.time_limit else None
        self.facts.elapsed_s = counters.elapsed_s(before, after, limit)

    @run_after("sanity", always_last=True)
    def note_traffic_and_files(self):
        """Note the traffic of the script's node, and the size of what is kept: pictures are drawn by now."""
        if self.is_dry_run():
            return
        self.facts.disk_B = self._kept_B()
        if self._snapshots and SIMULATED not in self.current_partition.features:
            self.facts.node_traffic_B = counters.node_traffic_B(*self._snapshots, self.hosts)

    def _kept_B(self):
        """Return the size of the files that ReFrame keeps of a case that passes."""
        stage = Path(self.stagedir)
        patterns = [str(self.stdout), str(self.stderr), self.job.script_filename, *self.keep_files]
        found = {path for pattern in patterns for path in stage.glob(pattern)}
        files = {file for path in found for file in ([path] if path.is_file() else path.rglob("*"))}
        return sum(file.stat().st_size for file in files if file.is_file())
