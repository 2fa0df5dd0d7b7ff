# SPDX-License-Identifier: BSD-3-Clause
"""From the end of a job to its records: sanity, the values of the declared metrics, and their facts."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import reframe.utility.sanity as sn
from reframe.core.builtins import (
    loggable_as,
    run_after,
    run_before,
    sanity_function,
    variable,
)
from reframe.core.exceptions import EnvironError, LoggingError, SanityError
from reframe.core.logging import getlogger
from reframe.core.pipeline import RegressionTestPlugin

from fabric_checks.core.errors import OutputError
from fabric_checks.core.extras import EnvironExtras
from fabric_checks.core.metrics import Headline, Metric
from fabric_checks.core.paths import results
from fabric_checks.records.record import SIMULATED, Facts, MetricFacts
from fabric_checks.reframe_ext import internals

# Modules that only a run needs are imported at their use: a listing needs none of them.
# ruff: noqa: PLC0415
#: The files in the stage folder with the host, its uptime, load and cores at the beginning and end of the
#: script. Corrections of the clock do not change an uptime.
BEFORE, AFTER = "cost-before.txt", "cost-after.txt"
#: The first lines of a job script, which cannot fail the job or change its exit status.
SCRIPT_LINES = (
    "fabric_folder=$PWD",
    "fabric_snapshot() { { uname -n; cat /proc/uptime /proc/loadavg; nproc --all; } "
    '> "$fabric_folder/$1"; } 2> /dev/null',
    f"trap 'fabric_snapshot {AFTER}' EXIT",
    f"fabric_snapshot {BEFORE} || :",
)


class RecordMixin(RegressionTestPlugin):
    """Prove the output whole, make every declared metric a performance variable, and fill the facts of the
    record.

    A scheduler that knows why a job failed has ``why_failed(job)``, which returns an
    :class:`~fabric_checks.schedulers.model.ExitReason` or None, and one that knows when it began
        ``began(job)``, which
    returns that in ISO 8601 or None.

    Needs: ``metrics()``, the declared :class:`~fabric_checks.core.metrics.Metric` objects, from the start,
    and ``recorded_metrics()``, ``recorded_values(values)``, those that are recorded (:class:`ProfileMixin`);
    ``measure(text)``, which turns standard output into a value for each of them and raises ``OutputError``;
    ``verify_placement()`` (:class:`PlacementMixin`); ``hold_to_ports(text)`` (:class:`PortsMixin`);
    ``read_references()`` (:class:`ReferencesMixin`); ``family``, ``current_layout`` (:class:`LayoutMixin`).
    """

    #: The most important values.
    headlines: tuple[Headline, ...] = ()

    #: Python packages beyond ReFrame's own that the analysis needs, and the purpose.
    packages: tuple[str, ...] = ()
    packages_for = ""

    #: The facts about this run, apart from its values, from when it is set up: a
    #: :class:`~fabric_checks.records.record.Facts`, which goes into every record.
    facts = None

    #: The pattern of files in a folder of the stage folder that the program logs to, ``FOLDER/*.txt``; it may
    #: print the cause of a failure there alone. Empty without any.
    program_logs = ""

    #: Why the records are not in the perflog; empty if they are.
    unwritten = ""

    #: Why the case is skipped, for ReFrame's run report, which has reasons of failures only.
    skip_reason = variable(str, value="", loggable=True)

    def skip(self, msg=None):
        """Skip the case, and record the reason."""
        self.skip_reason = msg or ""
        super().skip(msg)

    @loggable_as("facts")  # type: ignore[prop-decorator]
    @property
    def facts_as_data(self):
        """The facts for ReFrame's log and report; nothing of a case that failed before it was set up."""
        return self.facts.as_data() if self.facts else {}

    @property
    def own_parameters(self):
        """The parameters of the test but its layout, by name."""
        return {
            name: getattr(self, name)
            for name in type(self).raw_params
            if name != "layout"
        }

    @run_after("setup")
    def begin_facts(self):
        """Note the facts that are known before the job runs."""
        from fabric_checks.records import sessions

        if self.is_dry_run():
            getlogger().warning(
                "dry run: nothing is run, measured or judged, and nothing is recorded",
                cache=True,
            )
        metrics, layout = self.recorded_metrics(), self.current_layout
        sizes_B = [each.size_B for each in metrics if each.size_B is not None]
        without = EnvironExtras.of(self.current_environ).without
        self.facts = Facts(
            session=sessions.session_id(),
            collection=sessions.collection_version(),
            check=type(self).__name__,
            family=self.family,
            parameters=self.own_parameters,
            output=self._output(),
            about=self.current_partition.descr or self.current_system.descr or None,
            link_MBps=self.extras.link_MBps,
            layout=str(layout),
            nodes=layout.nodes,
            ppn=layout.ppn,
            tasks=layout.tasks,
            not_offered={
                name: why for name, why in without.items() if _is_asked_for(name)
            },
            sizes_B=list(dict.fromkeys(sizes_B)),
            metrics=self._facts_of(metrics),
        )

    def _facts_of(self, metrics: Sequence[Metric]) -> dict[str, MetricFacts]:
        """Return the declared facts of each metric for its record, by name."""
        parameters = self.own_parameters
        return {
            metric.name: MetricFacts(
                metric.quantity,
                metric.size_B,
                metric.better,
                one_way=metric.one_way,
                headline=_headline(self, metric.quantity, parameters),
                meaning=metric.about,
                can_be_zero=metric.can_be_zero,
            )
            for metric in metrics
        }

    @run_after("setup")
    def require_packages(self):
        """Fail a case whose values cannot be computed, before it allocates nodes.

        :raises EnvironError: for missing packages, with the line that installs them.
        """
        if self.is_dry_run():
            return  # nothing is going to be computed
        from fabric_checks.software import packages

        try:
            packages.require(
                self.packages, f"{type(self).__name__} needs them {self.packages_for}"
            )
        except packages.MissingPackageError as error:
            raise EnvironError(str(error)) from None

    @run_before("run", always_last=True)
    def note_times(self):
        """Begin the job script with lines that note the host's uptime, then and however the script ends."""
        self.prerun_cmds = [*SCRIPT_LINES, *self.prerun_cmds]

    @run_before("sanity")
    def note_job(self):
        """Record the state, the begin and the elapsed time of the job, also if its output is faulty."""
        if self.is_dry_run():
            return
        self.facts.elapsed_s = self.elapsed_s()
        if SIMULATED not in self.current_partition.features:
            self.note_load()
        began = getattr(self.job.scheduler, "began", None)
        first = Path(self.stagedir) / BEFORE
        self.facts.job_state = self.job.state
        if first.exists():
            self.facts.job_began = _iso(first.stat().st_mtime)
        elif self.current_partition.scheduler.is_local:
            self.facts.job_began = _iso(self.job.submit_time)
        elif began:
            self.facts.job_began = began(self.job)

    def elapsed_s(self) -> float | None:
        """Return the elapsed time of the job, in s; None if it was killed, or ended before its first line."""
        began, ended = (
            re.match(r"(\S+)\n(\d+\.\d+) ", self._text_of(name))
            for name in (BEFORE, AFTER)
        )
        if not began or not ended or began[1] != ended[1]:
            return None
        elapsed = round(float(ended[2]) - float(began[2]), 2)
        # ReFrame and schedulers end a job soon after its limit; twice the limit belongs to another job.
        most = 2 * (self.time_limit or math.inf)
        return elapsed if 0 <= elapsed <= most else None

    def note_load(self):
        """Record how busy the first node was before and after the case."""
        for name, moment in ((BEFORE, "before"), (AFTER, "after")):
            found = re.match(
                r"\S+\n.*\n(\d+\.\d+) \S+ \S+ (\d+)/\d+ .*\n(\d+)?", self._text_of(name)
            )
            if found:
                setattr(self.facts, f"load_1min_{moment}", float(found[1]))
                setattr(self.facts, f"runnable_processes_{moment}", int(found[2]))
                self.facts.host_cores = int(found[3]) if found[3] else None

    def require_finished_job(self):
        """Fail if the job did not end by itself.

        :raises SanityError: with node and cause, if the scheduler knows them.
        """
        why_failed = getattr(self.job.scheduler, "why_failed", None)
        ending = why_failed(self.job) if why_failed else None
        if ending:
            self.facts.node_faults = dict(ending.node_faults) or None
            text = ending.text
            raise SanityError(text if ending.is_cause else self.with_cause(text))

    def _output(self) -> str | None:
        """Return the output folder relative to the results; None in a dry run, or outside of the results."""
        folder = Path(self.outputdir or "/")
        if not folder.is_relative_to(results()):
            return None
        return str(folder.relative_to(results()))

    @sanity_function
    def validate(self):
        """Check exit status, placement and output, causes before effects."""
        self.facts.time = datetime.now(timezone.utc).isoformat(timespec="seconds")
        self.require_finished_job()
        # The probe ends the job if it fails, so its message goes before the job's exit status.
        self.verify_placement()
        if self.job.exitcode:
            raise SanityError(
                self.with_cause(
                    f"the program ended with exit status {self.job.exitcode}"
                )
            )
        return self.take_values()

    def read_dependencies(self):
        """Read the values that the check needs from the cases that it depends on; none by default."""

    def take_values(self):
        """Turn the output in the stage folder into values; a fault of it is an error or a failed assertion.

        It does not use the job, so that kept outputs can be read as well.
        """
        self.read_dependencies()
        path = Path(self.stagedir) / str(self.stdout)
        try:
            text = path.read_text(errors="replace")
            self.values = self.recorded_values(self.measure(text))
            self._declare_more()
        except OutputError as error:
            raise SanityError(self.with_cause(f"{path.name}: {error}")) from None
        self.hold_to_ports(text)
        declared = {metric.name for metric in self.recorded_metrics()}
        return sn.assert_eq(
            set(self.values),
            declared,
            msg="measured metrics {0} are not the declared metrics {1}",
        )

    def _declare_more(self):
        """Declare the metrics that only this run has, such as those that need a topology."""
        known = self.facts.metrics
        more = [each for each in self.recorded_metrics() if each.name not in known]
        if more:
            self.facts.metrics |= self._facts_of(more)
            self.read_references()

    @run_before("performance")
    def declare_performance(self):
        """Hand every declared metric to ReFrame."""
        for metric in self.recorded_metrics():
            self.perf_variables[metric.name] = sn.make_performance_function(
                self._value, metric.unit, metric.name
            )

    def _value(self, name: str) -> float:
        return float(self.values[name])

    def with_cause(self, what: str) -> str:
        """Return a message about a failure with its cause, as far as the job's output has it."""
        from fabric_checks.parsers import launch_errors

        pattern = self.program_logs
        logs = sorted(Path(self.stagedir).glob(pattern)) if pattern else []
        names = [
            str(self.stderr),
            str(self.stdout),
            *(f"{path.parent.name}/{path.name}" for path in logs),
        ]
        return launch_errors.explained(
            what, {name: self._text_of(name) for name in names}
        )

    def _text_of(self, name: str) -> str:
        """Return the text of a file in the stage folder; nothing if it does not exist."""
        path = Path(self.stagedir) / name
        return path.read_text(errors="replace") if path.exists() else ""

    @run_before("cleanup")
    def require_records(self):
        """Fail a case that passed, if the perflog does not have its records.

        ReFrame writes them when the case has already passed. The cleanup follows, in which a case can still
        fail, before its files are removed: its values can be read from them. ReFrame then logs the case
        again, as a failure.

        :raises LoggingError: with the file and the cause.
        """
        internals.follow_links_to_stage(self)
        if self.unwritten:
            why, self.unwritten = self.unwritten, ""
            raise LoggingError(why)


def _headline(
    check: RecordMixin, quantity: str, parameters: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return the headline that fits a metric of a check; None in a layout that has no such value.

    :param parameters: those of the check; of all its metrics, for it takes long to find them.
    """
    for each in check.headlines:
        if each.fits(quantity, parameters):
            has_value = check.current_layout.tasks >= each.least_tasks
            return asdict(each) if has_value else None
    return None


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="seconds")


def _is_asked_for(feature: str) -> bool:
    """Return whether the command line of this process may select checks that need a feature, by the names
    that it has.

    The names of a suite's checks begin as those of its features: ``OsuGather`` needs ``osu_c``.
    """
    suite, words = feature.partition("_")[0], sys.argv[1:]
    return {"-n", "--name"}.isdisjoint(words) or any(
        suite in word.lower() for word in words
    )
