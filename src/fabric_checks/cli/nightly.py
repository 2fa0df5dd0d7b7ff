# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks nightly``, which ``ci/nightly`` calls when everything is set up."""

from __future__ import annotations

from pathlib import Path

import click

from fabric_checks.cli.verb import (
    FAILED,
    FOUND,
    flag,
    json_option,
    metrics_option,
    name_option,
    option,
    passed_on,
    system_option,
    verb,
)
from fabric_checks.core import console, paths
from fabric_checks.core.errors import FabricError, RecordError, RequestError
from fabric_checks.core.levels import LEVELS
from fabric_checks.core.paths import sound_name
from fabric_checks.nightly.night import spend
from fabric_checks.nightly.plan import Plan, only_one
from fabric_checks.nightly.service import configuration
from fabric_checks.nightly.summary import Summary, terminal
from fabric_checks.nightly.summary import as_json as night_json
from fabric_checks.records import runs, sessions

_EPILOG = """
\b
ci/nightly sets up what is missing and then runs this command; it also takes --mpi, --stack, --mirror,
--reservation and --one-job, as ci/run does.

\b
Examples:
  fabric-checks nightly                                  the level nightly on this machine
  fabric-checks nightly --system yours --quiet           for cron: silent unless there is something to report
  fabric-checks nightly --level smoke --system yours     after maintenance
  fabric-checks nightly --system yours -- --tag pt2pt    part of it: options behind -- go to ci/run
  fabric-checks nightly --session 20261121T210000Z-8c1d  judge a run again, or someone else's; run nothing
"""

_STATUSES = {
    0: "passed or busy: nothing is wrong that is not acknowledged",
    FAILED: "failed: no case ran or no value came, so little is known about the machine",
    FOUND: "findings: each is listed, and marked if it is new",
    4: "blind: nothing was found, but the values are too noisy to detect a node that is 25 % slow",
}


@verb("nightly", _EPILOG, _STATUSES)
@option(
    "--level",
    "The level to run.",
    "--mode",
    "level",
    type=click.Choice(list(LEVELS)),
    default="nightly",
    show_default=True,
)
@system_option
@name_option("--session", "Judge this run, and run nothing.", "judged", metavar="NAME")
@metrics_option
@option(
    "--on-finding",
    "Run COMMAND with the news as JSON on its standard input.",
    metavar="COMMAND",
)
@flag("--quiet", "Print nothing if there is nothing new to report.")
@json_option
@passed_on
def command(
    level: str,
    system: str | None,
    judged: str | None,
    *,
    metrics: Path | None,
    on_finding: str | None,
    quiet: bool,
    as_json: bool,
    options: tuple[str, ...],
) -> None:
    """Run a level, judge it by its references, its own analysis and history, and report what is new.

    What is behind -- goes to ci/run. nightly/SYSTEM/SESSION in the results keeps summary.md, which is also
    printed, report.html, night.json, ReFrame's junit.xml and run.log, the output of the run; `latest` is the
    newest. Only one night of a system runs at a time.
    """
    _require_sound_options(options, judged)
    name = judged or sessions.new_session_id()
    system = system or str(configuration(None)["name"])
    _require_sound_names(name, system)
    results = paths.results().absolute()
    results.mkdir(parents=True, exist_ok=True)
    plan = Plan(
        system, level, name, results, options, runs=not judged,
        metrics=metrics and metrics.absolute(), on_finding=on_finding or "",
    )  # fmt: skip
    _require_its_run(plan)
    if not quiet:
        _announce(plan)
    with only_one(plan.folder / "lock") as descriptor:
        try:
            summary = spend(plan, descriptor)
        except SystemExit:
            console.error(
                f"error: interrupted, and nothing is judged: {plan.files / 'run.log'} has what was measured;"
                f" `ci/nightly --system {system} --level {level} --session {name}` judges that"
            )
            raise
    if not (quiet and summary.all_quiet):
        _show(summary, as_json=as_json)
    raise SystemExit(summary.verdict.exit_status)


def _announce(plan: Plan) -> None:
    if plan.runs and console.err().isatty():
        console.error(
            f"==> night {plan.session} of {plan.system}, level {plan.level}; its output is in"
            f" {plan.files / 'run.log'}"
        )


def _show(summary: Summary, *, as_json: bool) -> None:
    if as_json:
        console.print_json(night_json(summary))
    else:
        console.print_document(terminal(summary))


def _require_sound_names(session: str, system: str) -> None:
    try:
        sound_name("--session", session)
        sound_name("--system", system)
    except FabricError as error:
        raise click.UsageError(str(error)) from None


def _require_sound_options(options: tuple[str, ...], judged: str | None) -> None:
    """Refuse options for ci/run that are none, or that would have no effect."""
    if options and not options[0].startswith("-"):
        raise click.UsageError(
            f"unexpected {options[0]!r}; --level chooses a level, options for ci/run begin with -"
        )
    if judged and options:
        raise click.UsageError(
            "--session runs nothing, so options for ci/run have no effect; leave them out"
        )


def _require_its_run(plan: Plan) -> None:
    """Refuse to judge a run that is not there, or is another system's, and a first night of a system that
    does not exist."""
    if plan.runs and not plan.folder.exists():
        configuration(plan.system)
    if not plan.runs and not plan.log.exists():
        name = plan.session
        raise RecordError(
            f"{plan.results}: no run called {name!r} to judge; `fabric-checks show --list` lists all"
        )
    if plan.runs:
        return
    cases = runs.load_session(plan.results, plan.session).cases
    of = {case.system.partition(":")[0] for case in cases}
    if of and plan.system not in of:
        raise RequestError(
            f"{plan.session} ran on {', '.join(sorted(of))}, not on {plan.system}; name that with --system"
        )
