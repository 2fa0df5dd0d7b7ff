# SPDX-License-Identifier: BSD-3-Clause
"""Where there are checks between GPUs, and what is said where there are none; ReFrame lists them, nothing
runs."""

import json
import os
import sys
from pathlib import Path

import pytest

from fabric_checks.reframe_ext import system_description
from tests import programs
from tests.conftest import ROOT

REFRAME = Path(sys.executable).with_name("reframe")
SETTINGS = """\
from tests.checks.rich import NCCL, site
site_configuration = site(
    "gpus",
    [{{"name": "p", "features": {features}, "extras": {{"nodes": 4, "cores": 8}} | {extras}}}],
    {{"name": "e", "features": ["mpi", "mpicc", "nccl_tests"] + {more},
      "extras": {{"programs": {{"nccl_tests": NCCL}}}}}},
)
"""

DEVICES = """
for partition in site_configuration["systems"][0]["partitions"]:
    partition["devices"] = [{"type": "gpu", "arch": "sm_90", "num_devices": 4}]
"""


@pytest.fixture
def listed(tmp_path):
    """Return a function that lists the checks between GPUs of a partition: exit status and what is
    printed."""

    def of(features, extras, more=(), folder="nccl", command=(REFRAME,)):
        path = tmp_path / "settings.py"
        path.write_text(
            SETTINGS.format(features=features, extras=extras, more=list(more))
        )
        line = [
            *command,
            "-C",
            path,
            "-c",
            ROOT / "checks" / folder,
            "-R",
            "-l",
        ]
        environment = os.environ | {
            "PYTHONPATH": str(ROOT),
            "RFM_CONFIG_FILES": "",
            "FABRIC_RESULTS": str(tmp_path),
        }
        done = programs.run([*map(str, line), "--system", "gpus"], env=environment)
        return done.returncode, done.stdout + done.stderr

    return of


def test_each_collective_has_a_process_for_each_gpu_and_a_pair_of_nodes(listed):
    status, text = listed(["cuda"], {"gpus": 4})
    assert status == 0 and "RcclCollective" not in text
    layouts = {
        line.split("%layout=")[1].split()[0]
        for line in text.splitlines()
        if "NcclCollective %" in line
    }
    assert layouts == {"1x4", "2x4", "4x4", "2x1"}


@pytest.mark.parametrize(
    "features, extras", [([], {"gpus": 4}), (["rocm"], {"gpus": 4}), (["cuda"], {})]
)
def test_a_partition_without_its_gpus_has_none(listed, features, extras):
    status, text = listed(features, extras)
    assert status == 0 and "NcclCollective" not in text


def test_a_single_gpu_has_one_process_alone(listed):
    status, text = listed(["cuda"], {"gpus": 1, "nodes": 1})
    assert status == 0 and "no layout" not in text
    assert {
        line.split("%layout=")[1].split()[0]
        for line in text.splitlines()
        if "NcclCollective %" in line
    } == {"1x1"}
    assert (
        "%layout=1x1 " not in listed(["cuda"], {"gpus": 1})[1]
    )  # with four nodes there are others to send to


def test_gpus_for_which_no_layout_has_processes_are_named_with_the_remedy(listed):
    _, text = listed(["cuda"], {"gpus": 6})
    assert "gpus:p has 6 GPUs a node, and no layout with as many processes" in text
    assert "add 6 to extras['ppn']" in text
    assert "%layout=2x6" in listed(["cuda"], {"gpus": 6, "ppn": [6]})[1]


def test_rotate_runs_between_gpus_where_the_mpi_takes_their_memory(listed):
    status, text = listed(["cuda"], {"gpus": 4}, ["mpi_cuda"], "fabric")
    rows = [line for line in text.splitlines() if "RotateOnDevice" in line]
    assert status == 0 and all(
        "%device=cuda" in row and "%pattern=round-robin" in row for row in rows
    )
    assert {row.split("%layout=")[1].split()[0] for row in rows} == {
        "1x4",
        "2x4",
        "4x4",
        "2x1",
    }


@pytest.mark.parametrize(
    "features, more", [([], ["mpi_cuda"]), (["cuda"], []), (["cuda"], ["mpi_rocm"])]
)
def test_rotate_has_no_variant_between_gpus_elsewhere(listed, features, more):
    _, text = listed(features, {"gpus": 4}, more, "fabric")
    assert "Rotate %pattern" in text and "RotateOnDevice" not in text


LOADED = """
import json, sys
from reframe.frontend import cli
try:
    cli.main()
except SystemExit:
    print("LOADED", json.dumps(sorted(sys.modules)))
"""
#: What is about GPUs alone.
MODULES = {
    f"fabric_checks.{name}"
    for name in ("parsers.nccl_tests", "parsers.nccl_debug", "ports.gpu_paths")
}
MODULES |= {f"fabric_checks.{name}" for name in ("matrices.nccl_tests",)}


@pytest.mark.parametrize("features, has_gpus", [([], False), (["cuda"], True)])
def test_a_listing_has_cases_between_gpus_only_where_there_are_some_and_loads_nothing_of_theirs(
    listed, features, has_gpus
):
    _, text = listed(
        features,
        {"gpus": 4},
        ["osu", "osu_c"],
        "",
        command=[sys.executable, "-c", LOADED],
    )
    assert not MODULES & set(json.loads(text.split("LOADED ")[1].splitlines()[0]))
    assert ("NcclCollective %" in text) == has_gpus
    assert "OsuXccl" not in text
    assert "OsuLatency" in text


@pytest.mark.parametrize("extras", [{"gpus": 4}, {}], ids=["extras", "devices"])
def test_the_description_of_a_system_for_others_has_its_gpus(tmp_path, extras):
    """Without them `offers check` would find no case between GPUs."""
    settings, described = tmp_path / "settings.py", tmp_path / "system.json"
    devices = "" if extras else DEVICES
    settings.write_text(
        SETTINGS.format(features=["cuda"], extras=extras, more=[]) + devices
    )
    variables = {
        "PYTHONPATH": os.pathsep.join(sys.path),
        "RFM_CONFIG_FILES": str(settings),
    }
    command = [
        sys.executable,
        "-m",
        "fabric_checks.reframe_ext.system_description",
        "gpus",
        described,
    ]
    programs.run(
        command,
        env=os.environ | variables | {"FABRIC_RESULTS": str(tmp_path)},
        check=True,
    )
    elsewhere = system_description.configuration(
        json.loads(described.read_text()), tmp_path, tmp_path
    )
    assert elsewhere["systems"][0]["partitions"][0]["extras"]["gpus"] == 4
