# SPDX-License-Identifier: BSD-3-Clause
"""A child pipeline of GitLab with a job a case, made from the one that ReFrame generates, and its reports as one.

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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from fabric_checks.core import files, yaml_file
from fabric_checks.core.errors import FabricError, quoted
from fabric_checks.core.paths import name_is_sound

#: Options of a generated command line that are of the job that generated it, or of jobs that are not there any more.
_DROPPED = ("--prefix=", "--report-file=", "--restore-session=", "--report-junit=")
#: Where the reports of the jobs are, below the folder of results: in a folder of the session.
PARTS = Path("reports") / "parts"


class PipelineError(FabricError):
    """A pipeline that cannot be made, or whose jobs have not left what they should."""


@dataclass(frozen=True)
class Setting:
    """What all jobs of a child pipeline share.

    :param session: the name of their session.
    :param results: the folder of results, on a file system that all of them see.
    :param variables: more variables of their environment.
    :param tag: the tag of the runners that may take them.
    :param group: the resource group that runs them one at a time, so that none measures another's traffic.
    :param timeout: how long one may run, waiting in the queue included, as GitLab writes it.
    """

    session: str
    results: Path
    variables: Mapping[str, str] = field(default_factory=dict)
    tag: str = "fabric-checks"
    group: str = "fabric-checks-case"
    timeout: str = "12h"


def read(path: Path) -> dict[str, Any]:
    """Read a file of GitLab's format.

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
    """Return the jobs of a pipeline by name: what has a script."""
    return {name: job for name, job in pipeline.items() if isinstance(job, dict) and "script" in job}


def child_of(generated: Mapping[str, Any], setting: Setting) -> dict[str, Any]:
    """Return a pipeline with a job for each case of a generated one.

    :raises PipelineError: if a job is not as ReFrame writes it.
    """
    jobs = jobs_of(generated)
    needed = {name for job in jobs.values() for name in job.get("needs", ())}
    parts = setting.results / PARTS / setting.session
    pipeline: dict[str, Any] = {
        "stages": ["cases"],
        "variables": {"FABRIC_SESSION": setting.session, "FABRIC_RESULTS": str(setting.results)}
        | dict(setting.variables),
        "default": {"tags": [setting.tag], "before_script": [". ci/env.sh"]},
    }
    for name in jobs:
        if name not in needed:
            script = [*_command(name, jobs[name]), f"--report-file={parts / name}.json"]
            pipeline[name] = {
                "stage": "cases",
                "script": [shlex.join(script)],
                "resource_group": setting.group,
                "timeout": setting.timeout,
            }
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
    """Make one report of those that a child pipeline's jobs have left, where `fabric-checks` looks for it.

    :param pipeline: what :func:`child_of` returned; :param results: the folder of results.
    :returns: the name of the session, and the jobs without a report.
    :raises PipelineError: if there is no session in it, or no job has left a report.
    """
    session = str(pipeline.get("variables", {}).get("FABRIC_SESSION") or "")
    if not name_is_sound(session):
        raise PipelineError("FABRIC_SESSION is not among the variables; give the file that `child-pipeline` wrote")
    found, missing = [], []
    for name in jobs_of(pipeline):
        try:
            report = json.loads(files.read_bytes(results / PARTS / session / f"{name}.json", results))
            found.append((report["session_info"], report["runs"]))
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            missing.append(name)
    if not found:
        raise PipelineError(
            f"{results / PARTS / session}: none of {len(missing)} jobs left a report; see the logs of the jobs, or "
            "check that their FABRIC_RESULTS is this folder"
        )
    path = results / "reports" / f"run-report-{session}.json"
    whole = {"session_info": _info([info for info, _ in found]), "runs": _runs([runs for _, runs in found])}
    files.write_text(path, json.dumps(whole | {"restored_cases": []}, indent=2))
    return session, missing


def _info(infos: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what is said of all sessions at once: from the first to the last, and all their cases."""
    infos = sorted(infos, key=lambda info: info["time_start_unix"])
    last = max(infos, key=lambda info: info["time_end_unix"])
    return (
        infos[0]
        | {key: last[key] for key in ("time_end", "time_end_unix")}
        | {"time_elapsed": last["time_end_unix"] - infos[0]["time_start_unix"]}
        | _sums(infos)
    )


def _runs(reports: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the passes, each with the cases of all reports."""
    passes = []
    for index in range(max(len(runs) for runs in reports)):
        each = [runs[index] for runs in reports if index < len(runs)]
        cases = [case for run in each for case in run["testcases"]]
        passes.append(each[0] | _sums(each) | {"testcases": cases})
    return passes


def _sums(parts: list[dict[str, Any]]) -> dict[str, int]:
    return {key: sum(part.get(key, 0) for part in parts) for key in parts[0] if key.startswith("num_")}
