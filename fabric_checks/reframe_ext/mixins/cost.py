# SPDX-License-Identifier: BSD-3-Clause
"""What a case costs: measured by its job and noted in its records; and declared, for the first time that it runs."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

from reframe.core.builtins import run_after, run_before
from reframe.core.pipeline import RegressionTestPlugin

from fabric_checks.results.cost import counters
from fabric_checks.results.cost.plan import SIMULATED


class CostMixin(RegressionTestPlugin):
    """Let the job tell how long it worked and what it moved, and note it: ``elapsed_s``, ``traffic_B``, ``disk_B``.

    What cannot be told is null, and fails nothing. A simulation's job is the simulator: its time is that of the host,
    and it moves nothing.

    Needs: ``facts`` (:class:`ResultsMixin`), ``launches`` (:class:`LayoutMixin`), ``hosts`` (:class:`PlacementMixin`).
    """

    #: How the bytes are spread over the nodes: one of :data:`fabric_checks.results.cost.counters.PATTERNS`.
    traffic_pattern = counters.EVEN

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
        """Note what was moved between the nodes, and the size of what is kept: pictures are drawn by now."""
        if self.is_dry_run():
            return
        self.facts.disk_B = self._kept_B()
        several = any(layout.nodes > 1 for layout in self.launches)
        if not several:
            self.facts.traffic_B = 0
        elif self._snapshots and SIMULATED not in self.current_partition.features:
            self.facts.traffic_B = counters.traffic_B(*self._snapshots, self.hosts, self.traffic_pattern)

    def _kept_B(self):
        """Return the size of the files that ReFrame keeps of a case that passes."""
        stage = Path(self.stagedir)
        patterns = [str(self.stdout), str(self.stderr), self.job.script_filename, *self.keep_files]
        found = {path for pattern in patterns for path in stage.glob(pattern)}
        files = {file for path in found for file in ([path] if path.is_file() else path.rglob("*"))}
        return sum(file.stat().st_size for file in files if file.is_file())

    def declared_traffic_B(self):
        """Return about how many bytes the case moves between nodes, or None if nothing can be said.

        Good to a factor of a few: of each launch on several nodes, and of each of ``sizes_B``, the messages that
        :meth:`messages` declares. Asked for before a case is set up.
        """
        several = [layout for layout in self.launches if layout.nodes > 1]
        moved = [self._moved_B(layout) for layout in several]
        return None if None in moved else round(sum(moved))

    def _moved_B(self, layout):
        launched_in = getattr(self, "launched_in", None)
        with launched_in(layout) if launched_in else nullcontext():
            sent = [(self.messages(size_B), size_B) for size_B in getattr(self, "sizes_B", ())]
        if not sent or any(messages is None for messages, _ in sent):
            return None
        return layout.tasks * sum(messages * size_B for messages, size_B in sent)

    def messages(self, size_B):
        """Return how many messages of a size a process sends to others in a launch, on average over the processes.

        None, as here, if the program decides by the time they take.
        """
        return None
