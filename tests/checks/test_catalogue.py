# SPDX-License-Identifier: BSD-3-Clause
"""Every metric of every case of every shipped system has a reference or a reason; no reference is an orphan."""

import re

import pytest

from fabric_checks import references
from tests import loading
from tests.conftest import TESTS

REFERENCES = TESTS.parent / "config" / "references"
OSU = {"latency", "multi_lat", "bw", "bibw", "allgather", "alltoall", "bcast", "gather", "scatter", "barrier"}
IMB = {
    "PingPong",
    "PingPing",
    "Sendrecv",
    "Exchange",
    "Allreduce",
    "Reduce",
    "Alltoall",
    "Allgather",
    "Bcast",
    "Barrier",
}
OWN = {
    "BufferReuse",
    "CollectiveOverlap",
    "HotSpot",
    "Notification",
    "Overlap",
    "Rotate",
    "Streaming",
    "StreamingQueue",
}
LAMMPS = {"lj", "chain", "eam", "chute", "rhodo"}


@pytest.fixture(scope="module")
def local_cases(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FABRIC_RESULTS", str(tmp_path_factory.mktemp("results")))
        patch.setenv("FABRIC_MPI", "all")
        yield [case for case in loading.cases("local") if not case.check.is_fixture()]


def test_the_catalogue_is_complete(local_cases):
    def have(kind, attribute):
        return {getattr(case.check, attribute) for case in local_cases if type(case.check).__name__.startswith(kind)}

    assert have("Osu", "benchmark") == OSU
    assert have("Imb", "benchmark") == IMB
    assert have("Lammps", "problem") == LAMMPS
    assert {type(case.check).__name__ for case in local_cases if hasattr(case.check, "own_program")} == OWN


def test_each_environment_runs_what_it_offers(local_cases):
    def family(check):
        return "own" if hasattr(check, "own_program") else type(check).__name__[:3]

    runs = {(case.environ.name, family(case.check)) for case in local_cases}
    everything = {"Osu", "Imb", "Lam", "own"}
    assert runs == {(mpi, kind) for mpi in ("mpich", "impi") for kind in everything} | {
        ("openmpi", "Osu"),
        ("openmpi", "own"),
    }


def test_what_an_environment_does_not_offer_has_a_reason(local_cases):
    for environ in {case.environ.name: case.environ for case in local_cases}.values():
        for suite in ("osu", "imb", "lammps"):
            assert (suite in environ.features) != bool(environ.extras.get("without", {}).get(suite)), (
                environ.name,
                suite,
            )


@pytest.mark.parametrize("system", loading.shipped_systems())
def test_every_metric_has_a_reference_or_a_reason(system, monkeypatch):
    monkeypatch.setenv("FABRIC_MPI", "all")
    cases = [case for case in loading.cases(system) if not case.check.is_fixture()]
    assert cases
    for case in cases:
        check = case.check
        assert check._reference_error == ""
        names = [metric.name for metric in check.metrics()]
        assert names and len(names) == len(set(names))
        for name in names:
            reference = check.reference[f"{case.partition.fullname}:{name}"]
            judged = any(bound is not None for bound in reference[1:3])
            assert judged != bool(check.facts["no_reference"].get(name)), (check.display_name, name)


@pytest.mark.parametrize("path", sorted(REFERENCES.glob("*.yaml")), ids=lambda path: path.stem)
def test_no_reference_is_an_orphan(path, monkeypatch):
    """Every leaf of a reference file is the reference of some case of its system."""
    monkeypatch.setenv("FABRIC_MPI", "all")
    assert path.stem in loading.shipped_systems(), f"{path.name} belongs to no system"
    cases = [case for case in loading.cases(path.stem) if not case.check.is_fixture()]
    file = references.load(path)
    for name, entry in file.entries.items():
        index = entry.get("$index", ())
        used = [
            tuple(attribute_of(case, attribute) for attribute in index)
            for case in cases
            if type(case.check).__name__ == name
        ]
        for keys in paths(entry, len(index)):
            assert any(
                all(re.fullmatch(str(key), value) for key, value in zip(keys, case, strict=True)) for case in used
            ), f"{path.name}: {name}: {keys} matches no case"
    for reason in file.reasons:
        assert any(
            reason.covers(
                check=type(case.check).__name__,
                partition=case.partition.fullname,
                environ=case.environ.name,
                layout=str(case.check.place),
                metric=metric.name,
            )
            for case in cases
            for metric in case.check.metrics()
        ), f"{path.name}: no_reference: {reason.why!r} covers nothing"


def attribute_of(case, attribute):
    """Return the value that ReFrame looks up for an item of $index."""
    special = {
        "$system": lambda: case.check.current_system.name,
        "$partition": lambda: case.partition.fullname,
        "$environ": lambda: case.environ.name,
    }
    return str(special.get(attribute, lambda: getattr(case.check, attribute))())


def paths(mapping, depth):
    """Yield the keys on the way to every leaf."""
    for key, value in mapping.items():
        if key != "$index":
            if depth > 1:
                yield from ((key, *rest) for rest in paths(value, depth - 1))
            else:
                yield (key,)


def test_no_check_names_a_system_a_scheduler_or_an_mpi():
    words = re.compile(
        r"\b(slurm|srun|sbatch|pbs|flux|lsf|mpirun|mpiexec|openmpi|open mpi|mpich|impi|spack|local:|simgrid)\b", re.I
    )
    for path in sorted((TESTS.parent / "checks").rglob("*.py")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            found = words.search(line)
            assert found is None, f"{path.name}:{number}: {found[0]}"


def test_one_performance_job_at_a_time():
    """Whatever runs on the one node of `local` holds the lock of that node."""
    import runpy

    from tests.loading import SETTINGS

    (local,) = (s for s in runpy.run_path(str(SETTINGS))["site_configuration"]["systems"] if s["name"] == "local")
    (partition,) = local["partitions"]
    assert partition["max_jobs"] == 1
    assert any("flock" in command for command in partition["prepare_cmds"])
