# SPDX-License-Identifier: BSD-3-Clause
"""`fabric-checks run` before ReFrame starts: a reservation that would be passed over in silence is refused."""

import json
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from fabric_checks.cli import run
from fabric_checks.core.errors import FabricError
from fabric_checks.schedulers import reservations


@pytest.mark.parametrize(
    ("says", "cause"),
    [
        ({"name": "s", "partitions": [{"name": "p", "scheduler": "local"}]}, "s:p is run by 'local', and only Slurm's"),
        ({"name": "s"}, "ReFrame lists no partitions"),
        (None, "ReFrame lists no partitions: nothing"),
    ],
)
def test_a_reservation_is_never_passed_over(monkeypatch, says, cause):
    def asked(line, **_):
        assert line == ["reframe", "-c", "checks", "--show-config=systems/0"]  # which it refuses together with -r
        return SimpleNamespace(stdout=json.dumps(says) if says else "", stderr="")

    monkeypatch.setattr(run.subprocess, "run", asked)
    monkeypatch.setattr(run, "_run", lambda *_: pytest.fail("it was run"))
    monkeypatch.setenv(reservations.VARIABLE, "w")
    done = CliRunner().invoke(run.command, ["--", "reframe", "-c", "checks", "-r"])
    assert isinstance(done.exception, FabricError) and cause in str(done.exception)
