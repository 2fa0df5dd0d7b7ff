# SPDX-License-Identifier: BSD-3-Clause
"""Launch a program several times in one job, each in its own layout; compare processes per node; launch
without MPI."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reframe.core.backends import getlauncher
from reframe.core.builtins import run_after, run_before
from reframe.core.exceptions import SanityError
from reframe.core.logging import getlogger
from reframe.core.pipeline import RegressionTestPlugin
from reframe.core.systems import SystemPartition
from reframe.utility import temp_setattr

from fabric_checks.analysis import ppn_ratio
from fabric_checks.core.errors import FabricError, OutputError
from fabric_checks.core.extras import Extras
from fabric_checks.core.layouts import Layout
from fabric_checks.core.levels import NIGHTLY, SMOKE, SMOKE_NODES, includes
from fabric_checks.core.metrics import Headline, Metric


def launch_options(partition: SystemPartition, **numbers: int) -> list[str]:
    """Return the options that start ``tasks`` processes, ``ppn`` a node, on ``nodes`` nodes; none by default.

    :raises FabricError: if an option names anything else.
    """
    options = Extras.of(partition).launch_options or []
    try:
        return [option.format(**numbers) for option in options]
    except (KeyError, IndexError, ValueError):
        raise FabricError(
            f"{partition.fullname}: extras['launch_options'] is {options!r}: unknown placeholder;"
            " allowed: {nodes}, {tasks} and {ppn}"
        ) from None


class LaunchesMixin(RegressionTestPlugin):
    """Launch the program once in each of ``launches``, one after the other, in an allocation with room for
    all of them.

    Launches within one allocation run on the same nodes, a moment apart, so they are comparable. The
    allocation is larger than some of them: the partition gives in ``extras['launch_options']`` the options
    with which its launcher starts fewer processes than there is room for, with ``{nodes}``, ``{ppn}`` and
    ``{tasks}``.

    Needs: ``launches`` (overrides :class:`LayoutMixin`), ``command()``, ``recorded()``, ``around_launch()``,
    ``placement_probe``.
    """

    @run_after("init")
    def allow_time_for_all(self):
        """Allow the time limit of the check for each launch."""
        self.time_limit = f"{int(self.time_limit * len(self.launches))}s"

    @run_after("init", always_last=True)
    def ask_for_launch_options(self):
        """Run only where the partition has options to launch fewer processes than it has room for."""

        def is_able(partition: SystemPartition) -> bool:
            has_options = Extras.of(partition).launch_options is not None
            if not has_options:
                name = partition.fullname
                getlogger().warning(
                    f"{name} has no extras['launch_options']: nothing is compared within one job there",
                    cache=True,
                )
            return has_options

        self.run_only_on(is_able)

    @run_before("run")
    def probe_placement(self):
        """Write the job: before each launch its placement probe; a launch or a probe that fails ends the
        job."""
        lines = [line for layout in self.launches for line in self._lines(layout)]
        # The last launch is the job's own command, so its output and exit status are the job's.
        self.prerun_cmds = [*self.prerun_cmds, *lines[:-1]]
        self.executable, self.executable_opts = lines[-1], []
        self.job.launcher = getlauncher("local")()

    def _lines(self, layout: Layout) -> list[str]:
        with self.launched_in(layout):
            launch = self._launch(layout)
            program = f"{launch} {' '.join(self.recorded(self.command()))}"
            probe = f"{launch} {self.placement_probe} > {self.probe_output} || exit $?"
        if layout != self.launches[-1]:
            before, behind = self.around_launch()
            program = f"{{ {'; '.join([*before, program, *behind])}; }} > {output_of(layout)} || exit $?"
        return [probe, program]

    def _launch(self, layout: Layout) -> str:
        """Return the launcher's part of a command line for a layout that may be smaller than the
        allocation."""
        job, launcher = self.job, self.job.launcher
        job.num_tasks, job.num_tasks_per_node = layout.tasks, layout.ppn
        own = launch_options(
            self.current_partition,
            nodes=layout.nodes,
            ppn=layout.ppn,
            tasks=layout.tasks,
        )
        pin = getattr(job.scheduler, "pin", None)
        pinned = pin(job, layout.nodes) if pin else []
        with temp_setattr(launcher, "options", [*launcher.options, *pinned, *own]):
            return str(launcher.run_command(job))

    def verify_placement(self):
        """Verify the placement of every launch, and record the last one."""
        for layout in self.launches:
            with self.launched_in(layout):
                super().verify_placement()

    def outputs(self, last: str) -> dict[Layout, str]:
        """Return the output of each launch, given the last one.

        :raises SanityError: if one is missing.
        """
        texts = {}
        for layout in self.launches[:-1]:
            path = Path(self.stagedir) / output_of(layout)
            try:
                texts[layout] = path.read_text(errors="replace")
            except OSError as error:
                raise SanityError(
                    self.with_cause(f"{path}: {error.strerror}")
                ) from None
        return texts | {self.launches[-1]: last}

    @contextmanager
    def reading(self, layout: Layout) -> Iterator[None]:
        """Like :meth:`launched_in`; errors of the output name the launch."""
        with self.launched_in(layout):
            try:
                yield
            except OutputError as error:
                raise OutputError(f"the launch {layout}: {error}") from None


class PpnRatioMixin(LaunchesMixin):
    """Run a check in a layout with several processes a node and in its counterpart with one, and compare its
    metrics.

    The counterpart has as many nodes, or, where the program needs more processes than that, as many processes
    on a node each: :func:`fabric_checks.analysis.ppn_ratio.counterparts`. Every metric of both is compared:
    by the ratio, or, if it can be 0, such as a share, by the difference.

    To be mixed in before a check, with ``counterparts``: the counterpart of each value of the parameter
    ``layout``.
    """

    headlines: tuple[Headline, ...] = ()

    @property
    def launches(self) -> list[Layout]:
        """The counterpart and the layout."""
        return [Layout.of(self.counterparts[self.layout]), Layout.of(self.layout)]

    @run_after("init")
    def tag_comparison(self):
        """Add the tag of comparisons."""
        self.tags = {*self.tags, "ppn-ratio"}

    def chosen_levels(self) -> set[str]:
        """Return ``smoke`` and ``nightly`` for the few comparisons that these have.

        Pairs that share a node's links are not among the corners of the layouts, but of interest.
        """
        on_few = max(layout.nodes for layout in self.launches) <= SMOKE_NODES
        is_one = on_few and includes(self.levels.ppn_ratio, self)
        return {SMOKE, NIGHTLY} if is_one else set()

    def metrics(self) -> list[Metric]:
        """Declare a comparison for every metric of both layouts; for one launch, the check's own metrics."""
        if self.launched:
            return super().metrics()  # type: ignore[no-any-return]
        return [comparison.metric for comparison in self._comparisons()]

    def _comparisons(self) -> list[ppn_ratio.Comparison]:
        declared = []
        for layout in self.launches:
            with self.launched_in(layout):
                declared.append(self.metrics())
        return ppn_ratio.comparisons(*declared)

    def measure(self, text: str) -> dict[str, float]:
        """Read both outputs, and compare."""
        values = {}
        for layout, output in self.outputs(text).items():
            with self.reading(layout):
                values[layout] = super().measure(output)
        # Findings are about one launch, and the check itself reports them.
        self.facts.findings = None
        compared = {}
        for comparison in self._comparisons():
            name, own = comparison.metric.name, comparison.of
            of = {str(layout): values[layout][own.name] for layout in self.launches}
            compared[name] = comparison.value(of)
            self.facts.metrics[name].compared = {
                "metric": own.name,
                "quantity": own.quantity,
                "unit": own.unit,
                "values": of,
            }
        return compared


def output_of(layout: Layout) -> str:
    """Return the name of the file with a launch's output, in the stage folder."""
    return f"launch-{layout}.out"
