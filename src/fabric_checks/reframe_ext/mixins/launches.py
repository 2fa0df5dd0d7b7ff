# SPDX-License-Identifier: BSD-3-Clause
"""Several launches of a program in one job, each in a layout of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from reframe.core.backends import getlauncher
from reframe.core.builtins import run_after, run_before
from reframe.core.exceptions import SanityError
from reframe.core.logging import getlogger
from reframe.core.pipeline import RegressionTestPlugin
from reframe.core.runtime import runtime

from fabric_checks.core.errors import OutputError
from fabric_checks.core.layouts import Layout

#: The key of a partition's extras with what the launcher is to be told.
LAUNCH_OPTIONS = "launch_options"


class LaunchesMixin(RegressionTestPlugin):
    """Launch the program once in each of ``launches``, one after the other, in an allocation with room for all of them.

    What is compared within one allocation ran on the same nodes, a moment apart. The allocation is larger than some of
    the launches, so the partition says in ``extras['launch_options']`` what its launcher has to be told for fewer
    processes than there is room for, with ``{nodes}``, ``{ppn}`` and ``{tasks}``.

    Needs: ``launches`` (overrides :class:`LayoutMixin`), ``command()``, ``recorded()``, ``around_launch()``,
    ``placement_probe``.
    """

    launched: Layout | None = None
    num_tasks: Any
    num_tasks_per_node: Any

    @run_after("init")
    def allow_time_for_all(self):
        """Each launch may take what the check allows for one."""
        self.time_limit = f"{int(self.time_limit * len(self.launches))}s"

    @run_after("init", always_last=True)
    def ask_for_launch_options(self):
        """Run only where the partition says how to launch fewer processes than it has room for."""
        able = {}
        for partition in runtime().system.partitions:
            able[partition.fullname] = LAUNCH_OPTIONS in partition.extras
            if not able[partition.fullname]:
                getlogger().warning(
                    f"{partition.fullname} has no extras[{LAUNCH_OPTIONS!r}]: nothing is compared within one job there",
                    cache=True,
                )
        self.valid_systems = [name for name in self.valid_systems if able[name]]

    @contextmanager
    def launched_in(self, layout: Layout) -> Iterator[None]:
        """Let the check speak of one of its launches: ``current_layout`` and the numbers of tasks are that launch's."""
        before = self.launched, self.num_tasks, self.num_tasks_per_node
        self.launched, self.num_tasks, self.num_tasks_per_node = layout, layout.tasks, layout.ppn
        try:
            yield
        finally:
            self.launched, self.num_tasks, self.num_tasks_per_node = before

    @property
    def probe_output(self) -> str:
        """The name of the file with what a launch's probe saw, in the stage folder."""
        return f"placement-{self.current_layout}.txt"

    @property
    def ports_folder(self) -> str:
        """The name of the folder with what the nodes of a launch say, in the stage folder."""
        return f"ports-{self.current_layout}"

    @run_before("run")
    def probe_placement(self):
        """Write the job: before each launch its placement probe; a launch or a probe that fails ends the job."""
        lines = [line for layout in self.launches for line in self._lines(layout)]
        # The last launch is the job's own command, so its output and exit status are the job's.
        self.prerun_cmds = [*self.prerun_cmds, *lines[:-1]]
        self.executable, self.executable_opts = lines[-1], []
        self.job.launcher = getlauncher("local")()

    def _lines(self, layout: Layout) -> list[str]:
        with self.launched_in(layout):
            launch = self._launch(layout)
            program = f"{launch} {' '.join(self.recorded(self.command()))}"
            probe = self.probe_output
        if layout != self.launches[-1]:
            before, behind = self.around_launch()
            program = f"{{ {'; '.join([*before, program, *behind])}; }} > {output_of(layout)} || exit $?"
        return [f"{launch} {self.placement_probe} > {probe} || exit $?", program]

    def _launch(self, layout: Layout) -> str:
        """Return the launcher's part of a command line for a layout that may be smaller than the allocation."""
        launcher = self.job.launcher
        before = launcher.options
        numbers = {"nodes": layout.nodes, "ppn": layout.ppn, "tasks": layout.tasks}
        own = [option.format(**numbers) for option in self.current_partition.extras[LAUNCH_OPTIONS]]
        self.job.num_tasks, self.job.num_tasks_per_node = layout.tasks, layout.ppn
        launcher.options = [*before, *own]
        try:
            return str(launcher.run_command(self.job))
        finally:
            launcher.options = before

    def verify_placement(self):
        """Verify the placement of every launch; that of the last is noted."""
        for layout in self.launches:
            with self.launched_in(layout):
                super().verify_placement()

    def outputs(self, last: str) -> dict[Layout, str]:
        """Return what each launch printed, given the output of the last.

        :raises SanityError: if one is not there.
        """
        texts = {}
        for layout in self.launches[:-1]:
            path = Path(self.stagedir) / output_of(layout)
            try:
                texts[layout] = path.read_text(errors="replace")
            except OSError as error:
                raise SanityError(f"{path}: {error.strerror}{self.last_error_line()}") from None
        return texts | {self.launches[-1]: last}

    @contextmanager
    def reading(self, layout: Layout) -> Iterator[None]:
        """Like :meth:`launched_in`; what is wrong with the output says which launch it is of."""
        with self.launched_in(layout):
            try:
                yield
            except OutputError as error:
                raise OutputError(f"the launch {layout}: {error}") from None


class LauncherlessMixin(RegressionTestPlugin):
    """Start the check's program as one process, by no launcher; the placement probe is launched as ever.

    Needs: ``probe_placement()`` (:class:`PlacementMixin`).
    """

    @run_before("run")
    def probe_placement(self):
        """Probe, and then leave the launcher out."""
        super().probe_placement()
        self.job.launcher = getlauncher("local")()


def output_of(layout: Layout) -> str:
    """Return the name of the file with a launch's output, in the stage folder."""
    return f"launch-{layout}.out"
