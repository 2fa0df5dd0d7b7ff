# SPDX-License-Identifier: BSD-3-Clause
"""The files of eight sites are a configuration of each, with its guesses marked."""

import re
from dataclasses import replace

import pytest

from fabric_checks.core.yaml_file import load
from fabric_checks.onboarding.detection import look
from tests.onboarding.recorded import HOSTS, site, written_by_init


def written(name, **given):
    return written_by_init(look(site(name), HOSTS[name]), name="new", **given)


def configuration(text):
    """Return what a system's file defines."""
    scope = {}
    exec(compile(text, "new.py", "exec"), scope)
    (system,), environments = scope["systems"], scope.get("environments", [])
    return system, environments


@pytest.fixture(autouse=True)
def nothing_is_selected(monkeypatch):
    for name in ("FABRIC_MPI", "FABRIC_STACK"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("name", HOSTS)
def test_every_site_has_a_configuration(name, tmp_path):
    files = written(name, spack=True)
    assert list(files)[-2:] == ["references/new.yaml", "systems/new.py"]
    text = files["systems/new.py"]
    assert text.isascii()
    assert max(map(len, text.splitlines())) <= 120
    assert "# guess:" in text
    system, environments = configuration(text)
    assert system["name"] == "new" and re.match(
        system["hostnames"][0], HOSTS[name].split(".")[0]
    )
    known = {environment["name"] for environment in environments} | {
        "mpich",
        "impi",
        "openmpi",
    }
    for partition in system["partitions"]:
        assert partition["environs"] and set(partition["environs"]) <= known
        assert {"nodes", "cores", "ppn", "launch_options"} <= set(partition["extras"])
    for path, scope in files.items():
        if path.endswith(".yaml"):
            (tmp_path / "file.yaml").write_text(scope)
            load(tmp_path / "file.yaml")


@pytest.mark.parametrize(
    "name, given, access, nodes, link, nics",
    [
        ("slurm_infiniband", {}, ["--exclusive", "--partition=batch"], 16, 25000, 1),
        ("slurm_infiniband", {"account": "chem-21", "nodes": "7", "queue": "himem"},
         ["--exclusive", "--partition=himem", "--account=chem-21"], 7, 25000, 1),
        ("slurm_slingshot", {}, ["--exclusive", "--partition=standard"], 16, 25000, 2),
        ("slurm_gpus", {"queue": "gpu", "link_MBps": "200 Gbit/s"},
         ["--exclusive", "--partition=gpu", "--gres=gpu:a100:4"], 16, 25000, 2),
        ("pbs", {"account": "p1", "link_MBps": "6750"},
         ["-l place=scatter:exclhost", "-q workq", "-A p1"], 2, 6750, 1),
        ("flux", {}, ["--exclusive", "--queue=pbatch"], 16, 25000, 1),
        ("no_scheduler", {}, None, 1, None, None),
    ],
)  # fmt: skip
def test_the_access_and_extras_of_each_site(name, given, access, nodes, link, nics):
    partition, *_ = configuration(written(name, **given)["systems/new.py"])[0][
        "partitions"
    ]
    extras = partition["extras"]
    found = (
        partition.get("access"),
        extras["nodes"],
        extras.get("link_MBps"),
        extras.get("nics"),
    )
    assert found == (access, nodes, link, nics)


@pytest.mark.parametrize(
    "given, asks", [({}, None), ({"one_job": "no"}, None), ({"one_job": "yes"}, True)]
)
def test_nights_ask_for_one_allocation_where_jobs_wait_long(given, asks):
    files = written("slurm_infiniband", **given)
    partition, *_ = configuration(files["systems/new.py"])[0]["partitions"]
    assert partition["extras"].get("one_job") is asks


def test_files_of_the_fabric_are_proposed_where_slurm_has_a_topology():
    with_it, without = (
        written(name)["systems/new.py"] for name in ("slurm_infiniband", "pbs")
    )
    assert '# "topology": ["ibnetdiscover.txt", "lfts.txt"],' in with_it
    assert "topology" not in without


@pytest.mark.parametrize(
    "name, partitions",
    [
        ("pbs", {"workq-prrte": ("mpirun", ["openmpi-site"]),
                 "workq-hydra": ("mpiexec", ["intel-oneapi-mpi-site"])}),
    ],
)  # fmt: skip
def test_mpis_that_are_started_in_different_ways_have_a_partition_each(
    name, partitions
):
    found = configuration(written(name, mpi="all")["systems/new.py"])[0]["partitions"]
    assert {
        each["name"]: (each["launcher"], each["environs"]) for each in found
    } == partitions


def test_environments_load_their_modules_and_suites_are_there_to_be_filled_in():
    text = written("slurm_infiniband", mpi="all")["systems/new.py"]
    _, (openmpi, intel) = configuration(text)
    assert openmpi["modules"] == ["OpenMPI/4.1.6-GCC-13.2.0"]
    assert openmpi["env_vars"] == [
        ["SLURM_MPI_TYPE", "pmix"],
        ["SLURM_PMIX_FENCE", "ring"],
    ]
    # srun starts it only with Slurm's library.
    assert intel["env_vars"] == [
        ["SLURM_MPI_TYPE", "pmi2"],
        ["I_MPI_PMI_LIBRARY", "/usr/lib64/libpmi2.so.0"],
    ]
    assert (
        '# osu.installed("PREFIX", "7.2"),  # OSU-Micro-Benchmarks/7.2-gompi-2023b'
        in text
    )


def test_the_wheels_are_taken_where_there_is_no_mpi(monkeypatch):
    text = written("slurm_gpus", spack=True)["systems/new.py"]
    for stack, environs in {
        "wheels": ["mpich"],
        "spack": ["mpich-spack"],
        "modules": [],
    }.items():
        monkeypatch.setenv("FABRIC_STACK", stack)
        assert configuration(text)[0]["partitions"][0]["environs"] == environs


@pytest.mark.parametrize(
    "pmis, variables",
    [
        (
            (),
            [
                ["SLURM_MPI_TYPE", "pmi2"],
                ["GLIBC_TUNABLES", "glibc.malloc.tcache_count=0"],
            ],
        ),
        (
            ("cray_shasta", "pmix_v5"),
            [["SLURM_MPI_TYPE", "pmix_v5"], ["SLURM_PMIX_FENCE", "ring"]],
        ),
    ],
)
def test_the_wheels_are_started_by_what_srun_offers(pmis, variables):
    facts = replace(look(site("slurm_gpus"), "dune"), pmis=pmis)
    partition, *_ = configuration(written_by_init(facts, name="new")["systems/new.py"])[
        0
    ]["partitions"]
    assert partition["env_vars"] == [["SLURM_KILL_BAD_EXIT", "1"], *variables]


def test_a_given_answer_is_no_guess():
    of_queue = {
        "queue": "debug",
        "nodes": "4",
        "link_MBps": "200 Gbit/s",
        "nics": "1",
        "cores": "64",
    }
    text = written("slurm_infiniband", account="chem-21", mpi="openmpi", **of_queue)[
        "systems/new.py"
    ]
    # Only of what nobody is asked.
    assert {mark.split()[0] for mark in re.findall(r"# guess: (.*)", text)} == {
        "hosts",
        "the",
    }
