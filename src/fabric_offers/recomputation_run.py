# SPDX-License-Identifier: BSD-3-Clause
"""Recompute records and job scripts from kept outputs, with the checks that measured them and without the
machine.

    python -m fabric_offers.recomputation_run JOB FILE

reads the arguments of :func:`recompute` as JSON and writes its result. Nothing is
started: a check is set up, and reads a folder with the files of its job.
"""

from __future__ import annotations

import contextlib
import json
import re
import runpy
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from reframe.core.exceptions import ReframeError, SanityError

from fabric_checks.core.errors import FabricError
from fabric_checks.core.levels import LEVELS
from fabric_checks.core.paths import ROOT
from fabric_checks.records.perflog import records_of
from fabric_checks.records.record import SIMULATED
from fabric_checks.reframe_ext import internals, system_description

#: Test, partition and environment of a case.
Key = tuple[str, str, str]
#: The files that a job script writes: by redirection, and by the lines that note its times.
_WRITTEN = re.compile(r"(?:> |fabric_snapshot )(\S+\.(?:txt|out))")


def recompute(
    system: Any, folder: str, topology: str, level: str, runs: Sequence[dict[str, str]]
) -> dict[str, Any]:
    """Return the ``cases`` of a level, as lists of test, partition and environ, and the outcome of the
    ``runs``.

    The outcome of a run is its ``records``; ``script``, the lines of its job script; ``site``, those of them
    that the system's file adds; the ``files`` that it leaves; ``unknown``, the scheduler or launcher that
    this collection does not have, or None. Or it is an ``error``.

    :param system: the result of :func:`fabric_checks.reframe_ext.system_description.describe`.
    :param folder: for ReFrame's folders; :param topology: the folder of the files that ``topology`` names.
    :param runs: each with ``test``, ``partition`` and ``environ``, as in records, ``files``, the folder with
        its files, and ``group``, which contains all its dependencies.
    :raises RecordError: if the description is malformed.
    :raises ReframeError: if ReFrame cannot use it.
    """
    take_system(system, Path(folder), Path(topology))
    ordered, _ = internals.load_cases(
        ROOT / "checks", {"verify_data": str(LEVELS[level].validates).lower()}
    )
    cases: dict[Key, internals.TestCase] = {}
    for case in ordered:
        if case.check.is_fixture():
            internals.set_up(case)
        else:
            cases[case.check.display_name, case.partition.name, case.environ.name] = (
                case
            )
    found = dict(_in_order(runs, cases, system))
    return {
        "folder": folder,
        "cases": [list(key) for key, case in cases.items() if level in case.check.tags],
        "runs": [found[number] for number in range(len(runs))],
    }


def take_system(system: Any, folder: Path, topology: Path) -> None:
    """Let this process be on a system that was described elsewhere; see :func:`recompute`."""
    runpy.run_path(
        str(ROOT / "config/library.py")
    )  # its schedulers and launchers are known from here on
    settings = folder / "settings.json"
    settings.write_text(
        json.dumps(system_description.configuration(system, folder, topology))
    )
    internals.take_system([str(settings)], system["name"], folder)


def _in_order(
    runs: Sequence[dict[str, str]], cases: dict[Key, Any], system: Any
) -> Iterator[tuple[int, Any]]:
    """Yield the number of each run and its outcome, group by group, in each the dependencies first.

    The checks of a group read from each other what they were last set up with.
    """
    order = {key: position for position, key in enumerate(cases)}
    keys = [(run["test"], run["partition"], run["environ"]) for run in runs]
    groups = [run["group"] for run in runs]
    done: set[Any] = set()
    for number in sorted(
        range(len(runs)), key=lambda each: (groups[each], order.get(keys[each], -1))
    ):
        group, case = groups[number], cases.get(keys[number])
        if error := _why_not(case, group, done):
            yield number, {"error": error}
            continue
        entry = _one(case, Path(runs[number]["files"]), system)
        if "error" not in entry:
            done.add((group, case))
        yield number, entry


def _why_not(case: Any, group: str, done: set[Any]) -> str:
    """Return why a case cannot be recomputed; empty if it can."""
    if case is None:
        return "the described system has no such case"
    for dep in case.deps:
        if not dep.check.is_fixture() and (group, dep) not in done:
            name = dep.check.display_name
            return f"it depends on {name}, for which nothing could be computed"
    return ""


def _one(case: Any, files: Path, system: Any) -> dict[str, Any]:
    try:
        internals.set_up_anew(case)
        check = case.check
        internals.look_in(check, files)
        check.facts.elapsed_s = check.elapsed_s()
        if SIMULATED not in case.partition.features:
            check.note_load()
        check.verify_placement()
        result = check.take_values()
        result = result.evaluate() if hasattr(result, "evaluate") else result
        if not result:
            return {"error": "the measured metrics are not the declared metrics"}
        return {"records": _records(check), **script(case, system)}
    except (SanityError, FabricError, ReframeError) as error:
        return {"error": str(error).replace(f"{files}/", "")}
    except Exception as error:  # a faulty output of another site must not end the rest
        return {"error": f"{type(error).__name__}: {error}"}


def _records(check: Any) -> list[dict[str, Any]]:
    """Return the records of a check that has its values, as ReFrame judges these."""
    with contextlib.suppress(ReframeError):  # it raises what the results say
        check.performance()
    results = [values[-1] for values in check.perfvalues.values()]
    if check.facts.stack == "kept":
        check.facts.stack = check.program["described_stack"]
    unknown = dict.fromkeys(
        ("version", "check_fail_reason", "check_jobid", "check_job_nodelist")
    )
    of_case = {
        "check_facts": check.facts.as_data(),
        "check_perfvalues": check.perfvalues,
        "check_system": check.current_system.name,
        "check_partition": check.current_partition.name,
        "check_environ": check.current_environ.name,
        "check_display_name": check.display_name,
        "check_result": next(
            (each for each in ("fail", "xpass", "xfail") if each in results), "pass"
        ),
    }
    return records_of({**unknown, **of_case})


def script(case: Any, system: Any) -> dict[str, Any]:
    """Return the lines of the job script of a case, and what is said of them."""
    job = case.check.job
    directives, commands = internals.job_script(case.check)
    partition, environ = system_description.of_case(
        system, case.partition.name, case.environ.name
    )
    site = system_description.site_lines(partition, environ)
    own = [f"export {name}={value}" for name, value in case.check.env_vars.items()]
    known = system_description.launching(partition)
    written = _WRITTEN.findall("\n".join(commands))
    return {
        "script": [*directives, *site, *own, *commands],
        "site": site,
        "files": sorted({job.stdout, job.stderr, job.script_filename, *written}),
        "unknown": next(
            (partition[key] for key, name in known.items() if name != partition[key]),
            None,
        ),
    }


def main() -> None:
    """Recompute the job that the command line names."""
    path, target = sys.argv[1:]
    try:
        found = recompute(**json.loads(Path(path).read_text()))
    except (ReframeError, FabricError) as error:
        sys.exit(str(error).splitlines()[0])
    Path(target).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
