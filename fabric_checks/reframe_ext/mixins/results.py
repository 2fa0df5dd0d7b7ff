# SPDX-License-Identifier: BSD-3-Clause
"""From a program's output to figures: sanity, declared metrics, and the facts that go with them."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import reframe.utility.sanity as sn
from reframe.core.builtins import run_after, run_before, sanity_function, variable
from reframe.core.exceptions import SanityError
from reframe.core.pipeline import RegressionTestPlugin

from fabric_checks.errors import OutputError, quoted
from fabric_checks.results import sessions


class ResultsMixin(RegressionTestPlugin):
    """Prove the output whole, and make every declared metric a performance variable.

    Needs: ``metrics()``, the declared :class:`~fabric_checks.metrics.Metric` objects, from the start;
    ``measure(text)``, which turns standard output into a value for each of them and raises ``OutputError``;
    ``verify_placement()`` (:class:`PlacementMixin`); ``require_finished_job()`` (:class:`JobMixin`).
    """

    #: What is known about this run beside its figures; goes into every perflog record.
    #:
    #: :type: :class:`dict`
    #: :default: ``{}``
    facts = variable(dict, value={})

    @run_after("setup")
    def note_layout(self):
        """Note what is known before the job runs."""
        metrics = self.metrics()
        self.facts |= {
            "session": sessions.session_id(),
            "collection": sessions.collection_version(),
            "check": type(self).__name__,
            "layout": str(self.place),
            "nodes": self.place.nodes,
            "ppn": self.place.ppn,
            "tasks": self.place.tasks,
            "not_offered": self.current_environ.extras.get("without", {}),
            "sizes_B": list(dict.fromkeys(metric.size_B for metric in metrics if metric.size_B is not None)),
            "metrics": {
                metric.name: {"quantity": metric.quantity, "size_B": metric.size_B, "better": metric.better}
                for metric in metrics
            },
        }

    @sanity_function
    def validate(self):
        """Check exit status, placement and output; what is wrong first is what the user reads."""
        self.facts["time"] = datetime.now(timezone.utc).isoformat(timespec="seconds")
        self.require_finished_job()
        # The probe ends the job if it fails, so its message goes before the job's exit status.
        self.verify_placement()
        if self.job.exitcode:
            raise SanityError(f"the program ended with exit status {self.job.exitcode}{self.last_error_line()}")
        path = Path(self.stagedir) / str(self.stdout)
        try:
            self.values = self.measure(path.read_text(errors="replace"))
        except OutputError as error:
            raise SanityError(f"{path}: {error}{self.last_error_line()}") from None
        declared = {metric.name for metric in self.metrics()}
        return sn.assert_eq(set(self.values), declared, msg="measured metrics {0} are not the declared metrics {1}")

    @run_before("performance")
    def declare_performance(self):
        """Hand every declared metric to ReFrame."""
        for metric in self.metrics():
            self.perf_variables[metric.name] = sn.make_performance_function(self._value, metric.unit, metric.name)

    def _value(self, name: str) -> float:
        return float(self.values[name])

    def last_error_line(self) -> str:
        """Return the last line of standard error, or else of standard output, for a message; or nothing."""
        for path in (Path(self.stagedir) / str(self.stderr), Path(self.stagedir) / str(self.stdout)):
            text = path.read_text(errors="replace") if path.exists() else ""
            lines = [line for line in text.splitlines() if line.strip()]
            if lines:
                return f"; the last line of {path.name} is {quoted(lines[-1], 200)}"
        return ""
