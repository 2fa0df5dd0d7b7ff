# SPDX-License-Identifier: BSD-3-Clause
"""Stand-ins for ReFrame and Slurm."""

import json
import subprocess
from types import SimpleNamespace

import pytest

from fabric_checks.nightly import night, service
from fabric_checks.nightly.plan import Plan
from tests.nightly.samples import SESSION, case, record, session

#: The last words of the commands that are asked for a configuration and for all nodes.
CONFIGURATION, NODES = "--show-config=systems/0", "node"


def configuration(
    scheduler="fabric-slurm", access=("--exclusive",), environs=("mpich", "impi")
):
    """Return the configuration of the system `oak` as ReFrame prints it."""
    return json.dumps({"name": "oak", "partitions": [
        {"name": "empty", "scheduler": scheduler, "access": list(access), "environs": []},
        {"name": "p", "scheduler": scheduler, "access": list(access), "environs": list(environs)},
    ]})  # fmt: skip


@pytest.fixture
def answers(monkeypatch):
    """Return the answers of commands by their last word: a text or an exception; without one, they fail."""
    known = {
        CONFIGURATION: configuration(),
        NODES: (
            "NodeName=n1 State=IDLE Partitions=all,fast\nNodeName=n2 State=IDLE+DRAIN Partitions=all"
            " Reason=cable [me@now]\nNodeName=n3 State=ALLOCATED Partitions=all\nNodeName=g1 State=IDLE"
            " Partitions=gpu\n"
        ),
        "%P": "gpu\nall*\n",
    }

    def run(line, **_):
        answer = known.get(line[-1])
        if isinstance(answer, Exception):
            raise answer
        return SimpleNamespace(
            returncode=int(answer is None),
            stdout=answer or "",
            stderr="a\nno such thing\n",
        )

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(service.shutil, "which", lambda name: f"/bin/{name}")
    return known


@pytest.fixture
def plan(tmp_path):
    return Plan(
        "sys",
        "nightly",
        SESSION,
        tmp_path / "results",
        ("--flavour", "x"),
    )


@pytest.fixture
def results(monkeypatch):
    """Let a night find the results of two cases of which one passed, and keep nothing."""
    reported = []
    found = session(
        case("A"),
        case("B", "fail", "no output"),
        case("Build", fixture=True),
        records=[record("A"), record("B", None)],
    )
    monkeypatch.setattr(night.runs, "load_session", lambda *_: found)
    monkeypatch.setattr(
        night.retention, "write_report", lambda *_, **program: reported.append(program)
    )
    monkeypatch.setattr(night, "trends", lambda _, found: found)
    return reported
