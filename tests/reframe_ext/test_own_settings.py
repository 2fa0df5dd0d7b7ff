# SPDX-License-Identifier: BSD-3-Clause
"""What a run by a site's own settings goes without is said once; tests/test_own_reframe.py runs with such
settings."""

from types import SimpleNamespace

import pytest
from reframe.core.exceptions import ConfigError

from fabric_checks.core.errors import FabricError
from fabric_checks.reframe_ext import own_settings
from fabric_checks.reframe_ext.mixins.launches import launch_options


def partition(name, scheduler, detected=4, **extras):
    return SimpleNamespace(
        name=name, fullname=f"ada:{name}", extras=extras,
        scheduler=SimpleNamespace(registered_name=scheduler),
        environs=[SimpleNamespace(features=["mpi"])], processor=SimpleNamespace(num_cores=detected),
    )  # fmt: skip


@pytest.fixture
def notes(monkeypatch, tmp_path):
    """Return a function that returns the notes on a system with these partitions."""
    monkeypatch.setenv("RFM_REFERENCE_PREFIX", str(tmp_path))

    def found(*partitions):
        context = SimpleNamespace(
            system=SimpleNamespace(name="ada", partitions=partitions)
        )
        for module in (own_settings, own_settings.layout):
            monkeypatch.setattr(module, "runtime", lambda: context)
        return list(own_settings.notes())

    return found


@pytest.mark.parametrize(
    "scheduler, ours",
    [("slurm", "slurm"), ("squeue", "slurm"), ("pbspro", "pbs"), ("flux", "flux")],
)
def test_the_loss_with_a_scheduler_of_reframe_is_said_once(
    notes, tmp_path, scheduler, ours
):
    (tmp_path / "ada.yaml").touch()
    (line,) = notes(*(partition(name, scheduler) for name in ("a", "b")))
    assert line.startswith(f"ada:a: with ReFrame's own {scheduler!r} ")
    assert f"; 'fabric-{ours}' is for that" in line


def test_nothing_is_said_of_schedulers_and_references_that_are_there(notes, tmp_path):
    assert notes(partition("a", "fabric-slurm"), partition("b", "local")) == [
        f"no references: there is no {tmp_path}/ada.yaml: values are recorded and not judged"
    ]
    (tmp_path / "ada.yaml").touch()
    assert notes(partition("a", "fabric-slurm"), partition("b", "local")) == []


def test_a_partition_without_cores_is_left_out_and_the_others_stay(notes, tmp_path):
    (tmp_path / "ada.yaml").touch()
    able = [partition("a", "local"), partition("b", "local", None, cores=4)]
    (line,) = notes(*able, partition("c", "local", None))
    assert line.startswith(
        "ada:c is left out: the number of cores is unknown; give the partition"
    )
    assert own_settings.layout.partitions() == able


def test_a_references_file_that_is_named_and_missing_is_said_beforehand(
    notes, tmp_path
):
    (line,) = notes(
        partition("a", "local", references="x"), partition("b", "local", references="x")
    )
    assert line.startswith(
        f"no references: there is no {tmp_path}/x.yaml: extras['references'] of ada:a names it, and"
    )


@pytest.mark.parametrize("option", ["--ntasks={procs}", "--ntasks={}", "{"])
def test_launch_options_with_other_names_are_refused(option):
    with pytest.raises(
        FabricError,
        match="ada:a: extras\\['launch_options'\\] is .*: unknown placeholder;",
    ):
        launch_options(
            partition("a", "local", launch_options=[option]), nodes=1, tasks=1, ppn=1
        )
    one = partition("a", "local", launch_options=["-N{nodes}"])
    assert launch_options(one, nodes=2, tasks=4, ppn=2) == ["-N2"]


class Settings(dict):
    """ReFrame's configuration, as far as it is asked here."""

    sources = ("<builtin>", "settings.py")


NONE = "the system sys has no environment"


@pytest.mark.parametrize(
    "listed, variables, said",
    [
        (
            ["mpich", "openmpi"],
            {},
            f"{NONE}: none that -p 'nosuchenv' matches; choose from mpich, openmpi",
        ),
        (
            [],
            {"FABRIC_STACK": "spack"},
            f"{NONE} of the stack 'spack': list one in the `environs`",
        ),
        ([], {}, f"{NONE}: list one in the `environs` of its partitions"),
    ],
)
def test_a_system_without_environments_is_refused_with_the_cause(
    monkeypatch, listed, variables, said
):
    settings = {
        "systems/0/partitions": [{"environs": listed}],
        "general/0/valid_env_names": ["nosuchenv"],
    }
    system = SimpleNamespace(name="sys", partitions=[SimpleNamespace(environs=[])])
    monkeypatch.setattr(
        own_settings,
        "runtime",
        lambda: SimpleNamespace(system=system, site_config=Settings(settings)),
    )
    monkeypatch.setattr(own_settings.layout, "with_mpi", list)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError) as ended:
        own_settings._require_environments()
    assert str(ended.value).startswith(said)
