# SPDX-License-Identifier: BSD-3-Clause
"""Make a child pipeline of GitLab with a job a case from the one that ReFrame generates, and one report of its jobs'.

ReFrame 4.10.4 generates a job for each fixture, too, and lets the cases' jobs restore what it built. A fixture cannot
be selected by its hash, so such a job runs nothing and leaves no report, and every other job fails for want of it. Here
a case's job builds what it needs itself. Besides, the paths in the generated file are those of the job that generated
it, and each job would name a session of its own.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from fabric_checks.core import files, yaml_file
from fabric_checks.core.errors import FabricError, quoted
from fabric_checks.core.paths import name_is_sound

#: Options of a generated command line that belong to the job that generated it, or to jobs that are left out.
_DROPPED = ("--prefix=", "--report-file=", "--restore-session=", "--report-junit=")
#: The folder of the jobs' reports, below the folder of results; each session has a folder in it.
PARTS = Path("reports") / "parts"
#: The resource group that runs cases one at a time, so that none measures another's traffic.
GROUP = "fabric-checks-case"
#: How long a job may run, waiting in the queue included.
TIMEOUT = "12h"


class PipelineError(FabricError):
    """A pipeline that cannot be made, or whose jobs left no report."""


def read(path: Path) -> dict[str, Any]:
    """Return the pipeline in a file of GitLab's format.

    :raises PipelineError: if it cannot be read, or holds no job.
    """
    try:
        found = yaml_file.load(path)
    except yaml_file.YamlError as error:
        raise PipelineError(f"{error}; write it with ci/run --ci-generate={path.name}") from None
    if not isinstance(found, dict) or not jobs_of(found):
        raise PipelineError(f"{path}: has no job; `ci/run -l` with the same options lists the cases there are")
    return found


def jobs_of(pipeline: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the jobs of a pipeline by name: the entries with a script."""
    return {name: job for name, job in pipeline.items() if isinstance(job, dict) and "script" in job}


def child_of(
    generated: Mapping[str, Any], session: str, results: Path, variables: Mapping[str, str], tag: str = "fabric-checks"
) -> dict[str, Any]:
    """Return a pipeline with a job for each case of a generated one.

    :param session: the name that all jobs share; :param results: the folder of results, which all of them see.
    :param variables: more variables of their environment; :param tag: of the runners that may take them.
    :raises PipelineError: if a job is not as ReFrame writes it.
    """
    jobs = jobs_of(generated)
    needed = {name for job in jobs.values() for name in job.get("needs", ())}
    pipeline: dict[str, Any] = {
        "stages": ["cases"],
        "variables": {"FABRIC_SESSION": session, "FABRIC_RESULTS": str(results), **variables},
        "default": {"tags": [tag], "before_script": [". ci/env.sh"]},
    }
    for name, job in jobs.items():
        if name not in needed:
            script = [*_command(name, job), f"--report-file={results / PARTS / session / name}.json"]
            case = {"stage": "cases", "script": [shlex.join(script)], "resource_group": GROUP, "timeout": TIMEOUT}
            pipeline[name] = case
    return pipeline


def _command(name: str, job: Mapping[str, Any]) -> list[str]:
    lines = job["script"]
    words = shlex.split(lines[0]) if len(lines) == 1 else []
    if words[:1] != ["reframe"] or not any(re.fullmatch(r"/[0-9a-f]{8,}", word) for word in words):
        raise PipelineError(
            f"the job {quoted(name)} is not a single line of `reframe` with the hash of a case; let ci/run "
            "--ci-generate write the file"
        )
    kept = [word for word in words if not word.startswith(_DROPPED)]
    for at in (at for at, word in enumerate(kept) if word == "-C"):
        kept[at + 1] = "config/settings.py"  # the generating job's checkout need not be there
    return kept


def as_text(pipeline: Mapping[str, Any]) -> str:
    """Return a pipeline as the text of a file."""
    return yaml.safe_dump(dict(pipeline), sort_keys=False, width=1000)


def merge(pipeline: Mapping[str, Any], results: Path) -> tuple[str, list[str]]:
    """Write one report from those of a child pipeline's jobs, where `fabric-checks` looks for it.

    :param pipeline: from :func:`child_of`; :param results: the folder of results.
    :returns: the name of the session, and the jobs without a report.
    :raises PipelineError: if the pipeline names no session, or no job has left a report.
    """
    session = str(pipeline.get("variables", {}).get("FABRIC_SESSION") or "")
    if not name_is_sound(session):
        raise PipelineError("FABRIC_SESSION is not among the variables; give the file that `child-pipeline` wrote")
    infos, passes, missing = [], [], []
    for name in jobs_of(pipeline):
        try:
            report = json.loads(files.read_bytes(results / PARTS / session / f"{name}.json", results))
            infos.append(report["session_info"])
            passes.append(report["runs"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            missing.append(name)
    if not infos:
        raise PipelineError(
            f"{results / PARTS / session}: none of {len(missing)} jobs left a report; see the logs of the jobs, or "
            "check that their FABRIC_RESULTS is this folder"
        )
    most = max(map(len, passes))
    runs = [[of_job[number] for of_job in passes if number < len(of_job)] for number in range(most)]
    whole = {
        "session_info": _session_info(infos),
        "runs": [each[0] | _sums(each) | {"testcases": [case for run in each for case in run["testcases"]]}
                 for each in runs],
        "restored_cases": [],
    }  # fmt: skip
    files.write_text(results / "reports" / f"run-report-{session}.json", json.dumps(whole, indent=2))
    return session, missing


def _session_info(infos: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the information on all jobs as one session, from the first begin to the last end."""
    first = min(infos, key=lambda info: info["time_start_unix"])
    last = max(infos, key=lambda info: info["time_end_unix"])
    ends = {key: last[key] for key in ("time_end", "time_end_unix")}
    return first | ends | {"time_elapsed": last["time_end_unix"] - first["time_start_unix"]} | _sums(infos)


def _sums(parts: list[dict[str, Any]]) -> dict[str, int]:
    return {key: sum(part.get(key, 0) for part in parts) for key in parts[0] if key.startswith("num_")}
