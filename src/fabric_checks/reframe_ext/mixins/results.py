# SPDX-License-Identifier: BSD-3-Clause
"""From a program's output to values: sanity, declared metrics, and the facts that go with them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

import reframe.utility.sanity as sn
from reframe.core.builtins import loggable_as, run_after, run_before, sanity_function
from reframe.core.exceptions import SanityError
from reframe.core.pipeline import RegressionTestPlugin

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.core.metrics import Metric
from fabric_checks.core.paths import results
from fabric_checks.parsers import launch_errors
from fabric_checks.records import sessions
from fabric_checks.records.record import Facts, MetricFacts


class ResultsMixin(RegressionTestPlugin):
    """Prove the output whole, and make every declared metric a performance variable.

    Needs: ``metrics()``, the declared :class:`~fabric_checks.core.metrics.Metric` objects, from the start, and
    ``recorded_metrics()``, ``recorded_values(values)``, what is recorded of them (:class:`ProfileMixin`);
    ``measure(text)``, which turns standard output into a value for each of them and raises ``OutputError``;
    ``verify_placement()`` (:class:`PlacementMixin`); ``require_finished_job()`` (:class:`JobMixin`);
    ``hold_to_ports(text)``, ``rail_values`` (:class:`PortsMixin`).
    """

    #: What is known about this run beside its values, from when it is set up: a
    #: :class:`~fabric_checks.records.record.Facts`, which goes into every record.
    facts = None

    @loggable_as("facts")  # type: ignore[prop-decorator]
    @property
    def facts_as_data(self):
        """The facts for ReFrame's log and report; nothing of a case that failed before it was set up."""
        return self.facts.as_data() if self.facts else {}

    @property
    def own_parameters(self):
        """The parameters of the test but its layout, by name."""
        return {name: getattr(self, name) for name in type(self).raw_params if name != "layout"}

    @run_after("setup")
    def begin_facts(self):
        """Note what is known before the job runs."""
        metrics = self.recorded_metrics()
        self.facts = Facts(
            session=sessions.session_id(),
            collection=sessions.collection_version(),
            check=type(self).__name__,
            parameters=self.own_parameters,
            output=self._output(),
            about=self.current_partition.descr or self.current_system.descr or None,
            link_MBps=self.current_partition.extras.get("link_MBps"),
            layout=str(self.current_layout),
            nodes=self.current_layout.nodes,
            ppn=self.current_layout.ppn,
            tasks=self.current_layout.tasks,
            not_offered=self.current_environ.extras.get("without", {}),
            sizes_B=list(dict.fromkeys(metric.size_B for metric in metrics if metric.size_B is not None)),
            metrics=_facts_of(metrics),
        )

    def _output(self) -> str | None:
        """Return the folder of the case's files below that of results; None in a dry run, or if it is elsewhere."""
        if not self.outputdir:
            return None
        folder = Path(self.outputdir)
        return str(folder.relative_to(results())) if folder.is_relative_to(results()) else None

    @sanity_function
    def validate(self):
        """Check exit status, placement and output; what is wrong first is what the user reads."""
        self.facts.time = datetime.now(timezone.utc).isoformat(timespec="seconds")
        self.require_finished_job()
        # The probe ends the job if it fails, so its message goes before the job's exit status.
        self.verify_placement()
        if self.job.exitcode:
            raise SanityError(f"the program ended with exit status {self.job.exitcode}{self.last_error_line()}")
        return self.take_values()

    def read_dependencies(self):
        """Take over what the check needs of the cases that it depends on; of none, if it does not say."""

    def take_values(self):
        """Turn the output in the stage folder into values; what is wrong with it is an error or a failed assertion.

        Also where somebody else's kept output is looked at: nothing here asks the job.
        """
        self.read_dependencies()
        path = Path(self.stagedir) / str(self.stdout)
        try:
            text = path.read_text(errors="replace")
            self.values = self.recorded_values(self.measure(text))
            self._declare_more()
        except OutputError as error:
            raise SanityError(f"{path}: {error}{self.last_error_line()}") from None
        self.hold_to_ports(text)
        self.values |= self.rail_values
        declared = {metric.name for metric in self.recorded_metrics()}
        return sn.assert_eq(set(self.values), declared, msg="measured metrics {0} are not the declared metrics {1}")

    def _declare_more(self):
        """Note the metrics that only this run has, such as what needs a topology that its job was told."""
        more = [metric for metric in self.recorded_metrics() if metric.name not in self.facts.metrics]
        if more:
            self.facts.metrics |= _facts_of(more)
            self.read_references()

    @run_before("performance")
    def declare_performance(self):
        """Hand every declared metric to ReFrame."""
        for metric in self.recorded_metrics():
            self.perf_variables[metric.name] = sn.make_performance_function(self._value, metric.unit, metric.name)

    def _value(self, name: str) -> float:
        return float(self.values[name])

    def last_error_line(self) -> str:
        """Return what is known of the error of a launch, or else the last line that was printed, for a message."""
        if cause := launch_errors.known(self._text_of(str(self.stderr))):
            return f": {cause}"
        for name in (str(self.stderr), str(self.stdout)):
            # Launchers end what they say with rules of dashes.
            lines = [line for line in self._text_of(name).splitlines() if any(map(str.isalnum, line))]
            if lines:
                return f"; the last line of {name} is {quoted(lines[-1], 200)}"
        return ""

    def _text_of(self, name: str) -> str:
        """Return what is in a file of the stage folder; nothing if it is not there."""
        path = Path(self.stagedir) / name
        return path.read_text(errors="replace") if path.exists() else ""


def _facts_of(metrics: Sequence[Metric]) -> dict[str, MetricFacts]:
    """Return what a record says of each metric, by its name."""
    return {
        metric.name: MetricFacts(metric.quantity, metric.size_B, metric.better, metric.can_be_zero)
        for metric in metrics
    }
