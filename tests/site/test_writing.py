# SPDX-License-Identifier: BSD-3-Clause
"""What is written of nine sites is a configuration of each, with its guesses marked; the templates are written so."""

import ast
import re

import pytest

from fabric_checks.errors import FabricError
from fabric_checks.site import placing, questions
from fabric_checks.site.looking import look
from fabric_checks.yaml_file import load
from tests.site import examples
from tests.site.recorded import HOSTS, site


def written(name, **told):
    return examples.files(look(site(name), HOSTS[name]), name="new", **told)


def configuration(text):
    """Return what a system's file defines."""
    scope = {}
    exec(compile(text, "new.py", "exec"), scope)
    ((system,), environments) = scope["systems"], scope.get("environments", [])
    return system, environments


@pytest.fixture(autouse=True)
def nothing_is_selected(monkeypatch):
    for name in ("FABRIC_MPI", "FABRIC_STACK"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("name", HOSTS)
def test_every_site_has_a_configuration(name):
    files = written(name)
    assert list(files)[-2:] == ["references/new.yaml", "systems/new.py"]
    text = files["systems/new.py"]
    assert text.isascii() and max(map(len, text.splitlines())) <= 120
    system, environments = configuration(text)
    assert system["name"] == "new" and re.match(system["hostnames"][0], HOSTS[name].split(".")[0])
    known = {environment["name"] for environment in environments} | {"mpich", "impi", "openmpi"}
    for partition in system["partitions"]:
        assert partition["environs"] and set(partition["environs"]) <= known
        assert {"nodes", "cores", "ppn", "launch_options"} <= set(partition["extras"])
    # What nobody has said and no tool has told is marked.
    assert text.count("# guess:") >= 1


@pytest.mark.parametrize("name", HOSTS)
def test_every_scope_is_yaml(name, tmp_path):
    for path, text in written(name).items():
        if path.endswith(".yaml"):
            (tmp_path / "file.yaml").write_text(text)
            load(tmp_path / "file.yaml")


@pytest.mark.parametrize(
    ("name", "told", "access", "nodes", "link", "nics"),
    [
        ("slurm_infiniband", {}, ["--exclusive", "--partition=batch"], 16, 25000, 1),
        ("slurm_infiniband", {"account": "chem-21", "nodes": "100", "queue": "himem"},
         ["--exclusive", "--partition=himem", "--account=chem-21"], 100, 25000, 1),
        ("slurm_slingshot", {}, ["--exclusive", "--partition=standard"], 16, 25000, 2),
        ("slurm_ethernet", {}, ["--exclusive", "--partition=main"], 12, 3125, 1),
        ("slurm_gpus", {"queue": "gpu", "link_gbits": "200"}, ["--exclusive", "--partition=gpu"], 16, 25000, 2),
        ("pbs", {"account": "p1", "link_gbits": "54"}, ["-l place=scatter:exclhost", "-q workq", "-A p1"], 2, 6750, 1),
        ("torque", {}, ["-q batch"], 2, None, None),
        ("flux", {}, ["--exclusive", "--queue=pbatch"], 16, 25000, 1),
        ("lsf", {"link_gbits": ""}, ["-q normal"], 2, None, None),
        ("no_scheduler", {}, None, 1, None, None),
    ],
)  # fmt: skip
def test_what_jobs_ask_for(name, told, access, nodes, link, nics):
    partition, *_ = configuration(written(name, **told)["systems/new.py"])[0]["partitions"]
    extras = partition["extras"]
    found = partition.get("access"), extras["nodes"], extras.get("link_MBps"), extras.get("nics")
    assert found == (access, nodes, link, nics)


def test_lsf_with_jsrun():
    (partition,) = configuration(written("lsf")["systems/new.py"])[0]["partitions"]
    assert (partition["scheduler"], partition["launcher"], partition["access"]) == ("lsf", "jsrun", ["-q normal"])


def test_mpis_that_are_started_in_different_ways_have_a_partition_each():
    partitions = configuration(written("pbs")["systems/new.py"])[0]["partitions"]
    assert {each["name"]: (each["launcher"], each["environs"]) for each in partitions} == {
        "workq-prrte": ("mpirun", ["openmpi-site"]),
        "workq-hydra": ("mpiexec", ["intel-oneapi-mpi-site"]),
    }


def test_environments_load_what_offers_their_programs():
    _, (openmpi, intel) = configuration(written("slurm_infiniband")["systems/new.py"])
    assert openmpi["modules"] == ["OpenMPI/4.1.6-GCC-13.2.0", "OSU-Micro-Benchmarks/7.2-gompi-2023b"]
    assert openmpi["env_vars"] == [["SLURM_MPI_TYPE", "pmix"]] and "osu_c" in openmpi["features"]
    assert intel["extras"]["programs"]["imb"]["command"].startswith("/apps/software/IMB/2021.3-iimpi-2022b/bin/")


def test_the_wheels_are_taken_where_there_is_no_mpi(monkeypatch):
    text = written("slurm_gpus")["systems/new.py"]
    assert configuration(text)[0]["partitions"][0]["environs"] == ["mpich"]
    monkeypatch.setenv("FABRIC_STACK", "spack")
    assert configuration(text)[0]["partitions"][0]["environs"] == ["mpich-spack"]
    monkeypatch.setenv("FABRIC_STACK", "modules")
    assert configuration(text)[0]["partitions"][0]["environs"] == []


def test_what_is_said_is_no_guess():
    told = {"account": "chem-21", "nodes": "4", "queue": "debug", "link_gbits": "200", "nics": "1", "cores": "64"}
    text = written("slurm_infiniband", **told)["systems/new.py"]
    marked = re.findall(r"# guess: (.*)", text)
    # Only of what nobody is asked.
    assert {mark.split()[0] for mark in marked} == {"the", "of"} and '"nodes": 4,' in text


def test_the_templates_are_what_is_written():
    """After a change that is meant: `python -m tests.site.examples`."""
    for path, text in examples.templates().items():
        assert (examples.TEMPLATES / path).read_text() == text, path
    there = {str(path.relative_to(examples.TEMPLATES)) for path in examples.TEMPLATES.rglob("*.*")}
    assert {path for path in there if "__pycache__" not in path} == {*examples.templates(), "modules.py"}


@pytest.mark.parametrize(
    ("key", "text", "why"),
    [
        ("name", "a b", "is no name of a system"), ("name", "8wide", "is no name"), ("name", "$(x)", "is no name"),
        ("name", "taken", "which stays as it is"), ("queue", "nowhere", "is none of batch, debug, himem"),
        ("nodes", "0", "is no number of 1 or more"), ("nodes", "many", "is no number"), ("cores", "-1", "is no number"),
        ("account", "a;b", "the account is 'a;b', which is no name"), ("link_gbits", "fast", "is no rate in Gbit/s"),
        ("link_gbits", "0", "is no rate in Gbit/s"), ("link_gbits", "1e999", "is no rate"),
    ],
)  # fmt: skip
def test_what_is_no_answer(key, text, why):
    found = look(site("slurm_infiniband"), "login2")
    asked = [*questions.questions(found, lambda name: name != "taken"), *questions.of_queue(found, "batch")]
    (question,) = [each for each in asked if each.key == key]
    with pytest.raises(FabricError, match=re.escape(why)):
        questions.taken(question, text)


def test_few_questions_are_asked_and_each_guess_is_an_answer():
    """Of a large cluster six at most, of one machine its name."""
    for name in HOSTS:
        found = look(site(name), HOSTS[name])
        first = questions.questions(found, lambda _: True)
        queue = next((each.guess for each in first if each.key == "queue"), None)
        asked = [each for each in [*first, *questions.of_queue(found, queue)] if not each.certain]
        assert asked[0].key == "name" and len(asked) <= (1 if found.scheduler == "local" else 5)
        for question in asked:
            assert question.read("" if question.guess is None else f"{question.guess}") == question.guess


def test_names_that_are_there_are_not_taken_again():
    assert placing.is_free("ada")
    assert not any(map(placing.is_free, ("local", "generic_slurm", "cbc", "twins", "minicluster")))


def test_nothing_is_overwritten_and_nothing_half_written(tmp_path):
    files = {"systems/new/spack/site/a.yaml": "a", "references/new.yaml": "b", "systems/new.py": "c"}
    (tmp_path / "systems").mkdir()
    (tmp_path / "systems/new.py").write_text("mine")
    with pytest.raises(FabricError, match="new.py: is there already, and stays as it is; nothing was written"):
        placing.place(files, tmp_path)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / "systems/new.py"]
    assert (tmp_path / "systems/new.py").read_text() == "mine"
    (tmp_path / "systems/new.py").unlink()
    assert [path.read_text() for path in placing.place(files, tmp_path)] == ["a", "b", "c"]


def test_a_template_is_python():
    for path in examples.TEMPLATES.glob("*.py"):
        ast.parse(path.read_text())
