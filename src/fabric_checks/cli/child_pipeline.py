# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks child-pipeline``, which the pipelines of GitLab in ``ci/pipelines`` call."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from fabric_checks.core import console
from fabric_checks.core.paths import results, sound_name
from fabric_checks.nightly import child_pipeline
from fabric_checks.records.sessions import new_session_id

_EPILOG = """
\b
Examples:
  ci/run --ci-generate=generated.yml --mode nightly
  fabric-checks child-pipeline generated.yml > child.yml
  fabric-checks child-pipeline --merge child.yml     # after its jobs have ended
"""

#: Variables that the jobs of the child pipeline take over from the job that makes it.
PASSED_ON = ("FABRIC_HOME", "FABRIC_MPI", "FABRIC_STACK")


@click.command("child-pipeline", epilog=_EPILOG)
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--merge", is_flag=True, help="Merge the reports of the jobs into one; exit with status 1 if a job left none."
)
@click.option("--system", help="The system of the jobs.  [default: the one whose host names match]")
@click.option("--session", help="The name of their session.  [default: a new one]")
@click.option("--tag", default="fabric-checks", show_default=True, help="The tag of their runners.")
def command(file: Path, *, merge: bool, system: str | None, session: str | None, tag: str) -> None:
    """Print a child pipeline for GitLab, one job for each case, from the FILE that `ci/run --ci-generate=FILE` wrote.

    All its jobs share one session and one folder of results, and run one at a time. With --merge, FILE is that child
    pipeline, and the name of the session is printed.
    """
    given = child_pipeline.read(file)
    folder = results().absolute()
    if merge:
        name, missing = child_pipeline.merge(given, folder)
        console.print(name)
        console.warn([f"{job}: the job left no report; its case does not count as run" for job in missing])
        sys.exit(bool(missing))
    variables = {key: os.environ[key] for key in PASSED_ON if os.environ.get(key)}
    if system:
        variables["RFM_SYSTEM"] = system
    name = sound_name("--session", session) if session else new_session_id()
    made = child_pipeline.child_of(given, name, folder, variables, tag)
    console.print_document(child_pipeline.as_text(made))
