# SPDX-License-Identifier: BSD-3-Clause
"""The one door to ReFrame's inside: what it calls private, or does not document, is touched here and nowhere
else.

Every docstring explains why the public way does not do, and ``tests/reframe_ext/test_internals.py`` has a
test of each that fails when ReFrame changes that.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import re
import sys
import traceback
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import reframe
import reframe.core.logging as rfm_logging
import reframe.core.runtime as rt
from reframe.core.config import load_config
from reframe.core.exceptions import CommandLineError, ConfigError, ReframeError
from reframe.core.pipeline import RegressionTest
from reframe.core.schedulers import Job
from reframe.core.schedulers.slurm import SlurmJobScheduler
from reframe.frontend import cli, dependencies, executors
from reframe.frontend.loader import RegressionCheckLoader
from reframe.utility import ScopedDict
from reframe.utility.osext import change_dir

from fabric_checks.core import console
from fabric_checks.core.errors import ChoiceError, cut, quoted
from fabric_checks.core.paths import ROOT

TestCase: TypeAlias = executors.TestCase
T = TypeVar("T", bound=type[RegressionTest])

# Classes of checks


def without_deprecated_alias(cls: T) -> T:
    """Take ReFrame's deprecated variable ``variables`` out of a check class, and so out of all that inherit
    from it.

    Why: for every instance ReFrame 4.10 walks the whole call stack twice to find whom to warn of this alias
    of ``env_vars``, and then warns nobody, because nobody used it. That is two fifths of the time that
    loading our checks takes (`python -m lab.startup 5`).
    """
    cls._rfm_var_space.vars.pop("variables", None)
    return cls


def parameter_values(cls: type[RegressionTest]) -> dict[str, list[Any]]:
    """Return the values of each parameter of a check class.

    Why: the attribute of an instance is one of them; all of them are known to the class only.
    """
    return {name: list(each.values) for name, each in cls.raw_params.items()}


def take_references(
    check: RegressionTest, by_partition: Mapping[str, Mapping[str, Any]]
) -> None:
    """Let a check have references, each a tuple or an expected failure, that were checked before.

    Why: where they are assigned, ReFrame checks each value against several types, a quarter of the time that
    it takes to set up a case; and of its own kind of mapping, which it would not check, it keeps nothing.
    """
    vars(check)["reference"] = ScopedDict(by_partition)


def check_of(record: logging.LogRecord) -> Any:
    """Return the check that a log record is of, or None.

    Why: the handler of the perflog has to let the check itself know what it could not write.
    """
    return record.__dict__.get("__rfm_check__")


def log_results_by(
    make: Callable[[], logging.Handler], kind: type[logging.Handler]
) -> None:
    """Let a handler of our records get each finished case once, whatever the configuration logs.

    Why: ReFrame makes its handlers from the configuration, before it loads a check. That of a site has none
    of ours, or ``perflog_multiline``, with which a handler gets a case for each of its values, and a case
    without any never.

    :param make: makes it, unless the configuration has one of its kind.
    """
    configured = rfm_logging.getperflogger(None).logger
    if configured is None:
        return  # nothing is run in this process
    handlers = [handler for handler in configured.handlers if isinstance(handler, kind)]
    if handlers and not rt.runtime().get_option("logging/0/perflog_multiline"):
        return
    ours = rfm_logging.Logger("fabric-checks", rfm_logging.INFO)
    for handler in handlers or [make()]:
        configured.removeHandler(handler)
        ours.addHandler(handler)
    log_result = rfm_logging.LoggerAdapter.log_result

    def log_both(self: Any, level: int, task: Any, *args: Any, **kwargs: Any) -> None:
        log_result(self, level, task, *args, **kwargs)
        if self.logger is configured:
            log_result(rfm_logging.LoggerAdapter(ours, self.check), level, task)

    rfm_logging.LoggerAdapter.log_result = log_both


# Jobs and schedulers


def note(job: Job, **learnt: Any) -> None:
    """Let a job know what its scheduler has learnt of it.

    Why: the properties of a job can be read only, and ReFrame's own schedulers write these too.

    :param learnt: properties, and ``nodespec``: the nodes of a job of Slurm in Slurm's notation, which
        ``nodelist`` is made from.
    """
    for name, value in learnt.items():
        setattr(job, f"_{name}", value)


def end_pbs_job(job: Job) -> None:
    """Let a job of PBS have ended.

    Why: ``completed`` of such a job can be read only, and waits for files that a job which never began does
    not write.
    """
    job._completed = True


def reasons_to_cancel(scheduler: SlurmJobScheduler) -> Collection[str]:
    """Return the reasons to wait for which a job of Slurm is cancelled, in Slurm's words.

    Why: ReFrame makes them of two of its options when it makes the scheduler.
    """
    reasons: list[str] = scheduler._cancel_reasons
    return reasons


# The whole of ReFrame

#: The oldest ReFrame that the checks run on, and the first that they were not tried on; pyproject.toml has
#: the same.
OLDEST, UNTRIED = "4.10.3", "4.11"
#: Set to any value, this variable lets a newer one run.
ANY = "FABRIC_ANY_REFRAME"


def require_reframe() -> None:
    """Refuse a ReFrame that is too old, or newer than what was tried.

    Why: none of them warns itself. 4.10.0 to 4.10.2 name another metric than the one that misses its
    reference, 4.9 has a list of reasons to cancel with some that pass by themselves; a newer one may have
    other private names.

    :raises ConfigError: with its version, if it is one of these.
    """
    found = _numbers(reframe.VERSION)
    if found < _numbers(OLDEST):
        raise ConfigError(
            f"this is ReFrame {reframe.VERSION}, and {OLDEST} or later is needed: `. {ROOT}/ci/env.sh`"
            f" provides a newer one, as does `pip install 'reframe-hpc>={OLDEST},<{UNTRIED}'`"
        )
    if found >= _numbers(UNTRIED) and not os.environ.get(ANY):
        raise ConfigError(
            f"this is ReFrame {reframe.VERSION}, and the checks were tried on {OLDEST} to the last before"
            f" {UNTRIED}: `pip install 'reframe-hpc<{UNTRIED}'`, or try it with {ANY}=1"
        )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)[:3]))


@contextmanager
def where_called() -> Iterator[None]:
    """Be in the folder that ReFrame was called in, for what settings do with relative paths.

    Why: ReFrame loads a file of settings in the folder of that file, and keeps the other to itself.
    """
    left = [
        each for each in gc.get_referrers(change_dir) if isinstance(each, change_dir)
    ]
    with change_dir(left[0]._wd_save if left else "."):
        yield


def take_system(files: list[str], name: str | None, folder: Path | None = None) -> None:
    """Let this process be on a system of configuration files, as ``reframe -C FILE --system NAME`` would be.

    Why: ReFrame has one system a process, and keeps the first. Cases of one that was taken before must not be
    run. And it makes a stage and an output folder for each case that it sets up, also where none is run:
    23,000 for `twins`.

    :param name: None for the system that matches this host.
    :param folder: is there, and is the stage and the output folder of all cases, which are looked at and not
        run.
    :raises ConfigError: if the files cannot be loaded.
    """
    try:
        site = load_config("<builtin>", *files)
        site.validate()
    except ConfigError as error:
        fault: Any = (
            error.__cause__
        )  # of jsonschema, which ReFrame prints without its path
        if not hasattr(fault, "json_path"):
            raise
        raise ConfigError(
            f"{fault.json_path.removeprefix('$.')}: {cut(fault.message, 200)}"
        ) from None
    except ReframeError:
        raise
    except Exception as error:  # whatever a settings file raises: it is a program
        raise as_config_error(error, files) from None
    if name is not None:
        require_system(name, site["systems"])
    site.select_subconfig(name)
    rt._runtime_context = None
    rt.init_runtime(site)
    if folder is not None:
        context = rt.runtime()
        context.make_stagedir = context.make_outputdir = lambda *names: str(folder)


def as_config_error(error: Exception, files: Iterable[str]) -> ConfigError:
    """Return what files of settings raised, whatever it is, as an error with its last line in them."""
    lines = [
        each.lineno
        for each in traceback.extract_tb(error.__traceback__)
        if each.filename in files
    ]
    where = f"line {lines[-1]}: " if lines else ""
    return ConfigError(f"{where}{type(error).__name__}: {error}")


class UnknownNameError(ChoiceError, ConfigError):
    """A system, partition or mode that the settings do not have."""


def require_system(name: str, systems: Iterable[Mapping[str, Any]]) -> None:
    """Refuse a system, or SYSTEM:PARTITION, that is not among those of the settings.

    Why: ReFrame's own message does not list what there is.

    :raises UnknownNameError: with the names that there are.
    """
    wanted, colon, partition = name.partition(":")
    partitions = {
        system["name"]: [each["name"] for each in system["partitions"]]
        for system in systems
    }
    if wanted not in partitions:
        raise UnknownNameError(
            f"there is no system {quoted(wanted)}: choose one of {', '.join(sorted(partitions))}"
        )
    if colon and partition not in partitions[wanted]:
        raise UnknownNameError(
            f"the system {wanted} has no partition {quoted(partition)}: choose one of"
            f" {', '.join(partitions[wanted])}"
        )


def take_own_system(name: str, folder: Path | None = None) -> None:
    """Let this process be on a system of RFM_CONFIG_FILES, or else of this clone; see :func:`take_system`.

    Why: ReFrame reads that variable in its command line only.
    """
    files = os.environ.get("RFM_CONFIG_FILES") or str(ROOT / "config" / "settings.py")
    take_system(files.split(os.pathsep), name, folder)


def answer(make: Callable[..., Any]) -> None:
    """Write what a function makes of a system, as JSON, to a file; the command line has both, and more
    arguments.

    Why: ReFrame has one system per process, and loads a module once, so each system needs its own process.
    """
    system, path, *more = sys.argv[1:]
    try:
        content = make(system, *more)
    except ReframeError as error:
        console.error(f"{system}: {error}".splitlines()[0])
        sys.exit(getattr(error, "status", 1))
    Path(path).write_text(json.dumps(content))


def load_cases(
    folder: Path, variables: Mapping[str, str] | None = None
) -> tuple[list[TestCase], list[TestCase]]:
    """Return the cases of the checks in a folder, what others depend on first; and those that lack what they
    depend on.

    Why: the command line can list cases or run them, and does not hand them out.

    :param variables: of the checks, as with ``--setvar``.
    """
    checks = RegressionCheckLoader(
        [str(folder)], recurse=True, external_vars=variables
    ).load_all(force=True)
    graph, skipped = dependencies.build_deps(executors.generate_testcases(checks))
    return dependencies.toposort(graph), skipped


def set_up(case: TestCase) -> None:
    """Take a case through the phase ``setup``.

    Why: ReFrame goes through the phases of a case only where it runs it.
    """
    case.prepare()
    case.check.setup(case.partition, case.environ)


def placed(case: TestCase) -> RegressionTest:
    """Return a copy of the check of a case that knows where it is to run, for what it declares there.

    Why: the phase ``setup`` also makes a job and folders and finds program and references, which takes ten
    times as long.

    :param case: the fixtures that it depends on were set up.
    """
    check = copy(case.check)
    check._case = weakref.ref(case)
    check._current_partition, check._current_environ = case.partition, case.environ
    check._resolve_fixtures()
    return check


def set_up_anew(case: TestCase) -> None:
    """Take a case through the phase ``setup`` as if it never had been: it has a fresh check then.

    Why: ReFrame clones a case to run it again, and the clone does not know what it depends on.
    """
    case._check, case._is_ready = case._check_orig, False
    set_up(case)


def look_in(check: RegressionTest, folder: Path) -> None:
    """Let a check that was set up have its stage folder elsewhere, with the files of a job that has ended.

    Why: ReFrame decides where it is, and a check's own methods read its files from there.
    """
    check._stagedir = str(folder)


def follow_links_to_stage(check: RegressionTest) -> None:
    """Let the cleanup of a check find its stage folder without links, as where `.fabric` is a link to a large
    disk.

    Why: ReFrame takes the path of a folder that it keeps relative to the stage folder from the working
    directory, which has no links: it copies the folder to somewhere above the output folder, or into itself.
    """
    check._stagedir = os.path.realpath(check.stagedir)


def job_script(check: RegressionTest) -> tuple[list[str], list[str]]:
    """Return the lines of the job script of a check that was set up: the scheduler's, and the commands.

    Why: ReFrame writes it to a file just before it submits the job, and there expands the variables of the
    environment, which runs what they have in ``$(...)``. Those may be of another site: they, and its
    commands, are left out.
    """
    found: list[str] = []

    def take(commands: list[str], *_: object, **__: object) -> None:
        found.extend(commands)

    check._rfm_dry_run = True
    check.job.prepare = take
    check.run()
    directives = check.job.scheduler.emit_preamble(check.job)
    return _lines(directives), _lines(found)


def _lines(texts: Iterable[str]) -> list[str]:
    """Return the lines of texts; none of no text, as of a scheduler without directives."""
    return [line for text in texts for line in text.split("\n")]


def select_only(take: Callable[[list[TestCase], int], None]) -> None:
    """Be ReFrame's command line, except that the cases that it would run are handed over, and none is run.

    Why: so the selection is that of all its options. A listing does not say how often cases run, and a dry
    run sets up each of them, with a folder and a job script: for thousands of cases that takes minutes.

    :param take: gets the cases, and how often they would run.
    """

    class Handing(executors.Runner):
        def runall(self, testcases, restored_cases=None):
            if self._timeout:
                raise CommandLineError(
                    "--duration itself sets how long the run takes; compute the cost without it"
                )
            take(testcases, 1 + self._num_reruns)

    cli.Runner = Handing
    cli.main()


def run_cases(
    choose: Callable[[list[TestCase], int, list[str]], list[TestCase]],
    again: Callable[[], None],
    behind: Callable[[], None],
) -> None:
    """Be ReFrame's command line, except that something is done between the selection of cases and the first,
    and behind the last.

    Why: the command line goes from its options to its exit status, and has no hooks; between them its report
    is written, for which no allocation is to be held.

    :param choose: gets the cases that are no fixtures, how often they would run, and the options of
        ``--job-option``; it returns those to run, in the order to run them.
    :param again: is called when they have run; :param behind: however that ends.
    """

    class Choosing(executors.Runner):
        def runall(self, testcases, restored_cases=None):
            fixtures = [case for case in testcases if case.check.is_fixture()]
            others = [case for case in testcases if not case.check.is_fixture()]
            _RUNNERS[:] = [self]
            try:
                chosen = choose(
                    others, 1 + self._num_reruns, self._policy.sched_options
                )
                super().runall([*fixtures, *chosen], restored_cases)
                again()
            finally:
                behind()

    cli.Runner = Choosing
    cli.main()


#: The runner of this process.
_RUNNERS: list[executors.Runner] = []


def run_again(cases: Sequence[TestCase], number: int) -> bool:
    """Run cases of the run once more, and return whether all of them came to their end.

    Why: ReFrame's retries are of what failed for any reason, and its report has the last try for the case.
    These leave no trace in it. What they need is built; it must stay, though ReFrame takes it away as soon as
    a case that failed succeeds.

    :param number: of the repeat; their folders have the names of such a retry.
    """
    runner, context = _RUNNERS[0], rt.runtime()
    policy, run = runner.policy, context.current_run
    needed = list(dict.fromkeys(dep for case in cases for dep in case.deps))
    graph, _ = dependencies.build_deps([case.clone() for case in cases], needed)
    for dep in needed:
        policy._task_index[dep].ref_count += len(cases)
    policy.stats = stats = executors.TestStats()
    stats._alltasks = [[] for _ in range(run + number + 1)]
    context._current_run = run + number
    try:
        runner._runall(dependencies.toposort(graph, is_subgraph=True))
        return not any(task.skipped or task.aborted for task in stats.tasks())
    finally:
        policy.stats, context._current_run = runner.stats, run


def poll_steadily() -> None:
    """Let ReFrame look after cases as often late in a case as at its beginning.

    Why: it looks less and less often, to spare a scheduler, at last every ten seconds. Its option for that is
    read before the cases are selected.
    """
    _RUNNERS[0].policy._pollctl._poll_rate_decay = 0.0


def has_fixtures_left() -> bool:
    """Return whether a fixture of the current pass has not ended.

    Why: ReFrame starts a case as soon as its own fixtures are there, while others are built.
    """
    tasks = getattr(_RUNNERS[0].policy, "_task_index", {})
    return any(
        case.check.is_fixture() and not (task.completed or task.skipped or task.aborted)
        for case, task in tasks.items()
    )
