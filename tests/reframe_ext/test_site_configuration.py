# SPDX-License-Identifier: BSD-3-Clause
"""A run is refused where its results cannot be kept, a list is not."""

import os
import runpy
from types import SimpleNamespace

import pytest
from reframe.core.exceptions import ConfigError

from fabric_checks.core.paths import ROOT
from fabric_checks.reframe_ext import site_configuration
from tests import programs

RUN = ["reframe", "-c", "checks", "-r"]


@pytest.fixture
def room(monkeypatch):
    """Return a function that lets a disk have so many MiB free, for a command."""

    def of(free_MiB, command):
        monkeypatch.setattr(
            site_configuration.shutil,
            "disk_usage",
            lambda _: SimpleNamespace(free=free_MiB * 2**20),
        )
        monkeypatch.setattr(site_configuration.sys, "argv", command)

    return of


def test_a_run_on_a_full_disk_is_refused_with_the_room_it_needs_and_a_list_writes_nothing(
    tmp_path, room
):
    room(63, RUN)
    cause = (
        rf"results cannot be written to {tmp_path} \(63 MiB are free, and a run needs 64\): name a folder of"
        r" your own"
    )
    with pytest.raises(ConfigError, match=cause):
        site_configuration.require_room(tmp_path / "logs")
    room(64, RUN)
    site_configuration.require_room(tmp_path / "logs")
    room(0, ["reframe", "-c", "checks", "-l"])
    assert site_configuration._logging(tmp_path / "none", "s")["handlers"] == []
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    "command, variable, is_named",
    [
        (["reframe", "-l"], None, False),
        (["reframe", "--system", "cbc", "-l"], None, True),
        (["reframe", "--system=cbc", "-l"], None, True),
        (["reframe", "-l"], "cbc", True),
        (["fabric-checks", "twin"], None, True),
    ],
)
def test_systems_chosen_by_name_are_described_if_one_is_named(
    monkeypatch, command, variable, is_named
):
    line = ["/somewhere/bin/" + command[0], *command[1:]]
    monkeypatch.setattr(site_configuration.sys, "argv", line)
    monkeypatch.setattr(site_configuration.sys, "orig_argv", ["python3", "-B", *line])
    monkeypatch.delenv("RFM_SYSTEM", raising=False)
    if variable:
        monkeypatch.setenv("RFM_SYSTEM", variable)
    systems = runpy.run_path(str(ROOT / "config/systems/twins.py"))["systems"]
    assert bool(systems) == is_named == site_configuration.is_system_named()


@pytest.mark.parametrize(
    "system, fault",
    [
        ("local", ""),
        ("nosuch", "there is no system 'nosuch': choose one of cbc, "),
        (
            "local:nosuch",
            "the system local has no partition 'nosuch': choose one of node",
        ),
    ],
)
def test_reframe_names_the_systems_that_there_are(system, fault):
    command = [
        "reframe",
        "-C",
        str(ROOT / "config/settings.py"),
        "--system",
        system,
        "--show-config=systems/0/name",
    ]
    done = programs.run(command, env=dict(os.environ))
    assert bool(done.returncode) == bool(fault) and fault in done.stdout + done.stderr


def test_a_fault_in_the_file_of_a_system_is_placed_there(tmp_path):
    system = tmp_path / "systems/a.py"
    system.parent.mkdir()
    system.write_text("systems = []\nenvironments = [imbb]\n")
    with pytest.raises(ConfigError) as caught:
        site_configuration.configuration(tmp_path, lambda partition: None)
    told = f"{system}: line 2: NameError: name 'imbb' is not defined"
    assert str(caught.value) == told
