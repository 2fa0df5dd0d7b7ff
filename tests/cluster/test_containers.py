# SPDX-License-Identifier: BSD-3-Clause
"""The same case bare and inside an image, by the Podman and the Apptainer of this machine, on a real cluster.

The image has empty folders only, into which the system and the MPI of the host are mounted.
"""

import json
import shutil

import pytest

from fabric_checks.core.paths import home
from tests import builders, programs
from tests.cluster.conftest import CI, Cluster
from tests.conftest import TESTS

NAME = "localhost/fabric-checks-test"
CASE = "^Notification%wait=default%layout=2x1$"
SETTINGS = TESTS / "cluster/containers/settings.py"
MOUNTED = ("/usr", "/etc", str(home()))


def description(platform, root):
    """Return the description of an image for a runtime of this machine, and why none starts; the image is
    kept.

    :param root: an empty folder for it.
    """
    command = platform.lower()
    if shutil.which(command) is None:
        return {}, f"{command} is not installed"
    for name in ("usr", "etc", "proc", "sys", "dev", "tmp", "root"):
        (root / name).mkdir()
    for name in ("bin", "lib", "lib64", "sbin"):
        (root / name).symlink_to(f"usr/{name}")
    option, start, image = (
        ("-B", ["exec"], str(root))
        if command == "apptainer"
        else ("-v", ["run", "--rm"], NAME)
    )
    if command == "podman":
        programs.run(["sh", "-c", f"tar -C {root} -c . | podman import - {NAME}"])
    options = [f"{option}{folder}:{folder}" for folder in MOUNTED]
    done = programs.run([command, *start, *options, image, "true"])
    if done.returncode != 0:
        return (
            {},
            f"{command} starts nothing here: {done.stderr.strip().splitlines()[-1]}",
        )
    return {"platform": platform, "image": image, "options": options}, ""


def remove(platform):
    """Remove the image, if there is the runtime that keeps one."""
    if platform == "Podman" and shutil.which("podman"):
        programs.run(["podman", "rmi", NAME])


def session(cluster, inside, results, cases, settings=SETTINGS):
    """Run cases of two nodes, inside an image if it is described; return what is printed, and the records."""
    line = [CI / "run", "--system", "minicluster", "-n", cases, "-C", settings]
    variables = {
        "FABRIC_RESULTS": str(results),
        "FABRIC_MPI": "mpich",
        "INSIDE": json.dumps(inside),
    }
    done = cluster.tried("head", *line, **variables)
    records = [
        record
        for path in results.rglob("perflogs/**/*.jsonl")
        for record in builders.records_in(path)
    ]
    return done.stdout + done.stderr, records


@pytest.fixture(scope="module", params=["Podman", "Apptainer"])
def container(request, machine, tmp_path_factory):
    """Return the description of an image for a runtime; without one that works the test is skipped with its
    error."""
    found, why_not = description(request.param, tmp_path_factory.mktemp("image"))
    request.addfinalizer(lambda: remove(request.param))
    if why_not:
        pytest.skip(why_not)
    return found


@pytest.fixture(scope="module")
def run(machine, tmp_path_factory):
    """Return a function that runs a case between two nodes inside an image: what is printed, and its first
    record."""
    cluster = Cluster()
    cluster("up", "--nodes", "2", "--rate", "none")

    def once(inside):
        printed, records = session(
            cluster, inside, tmp_path_factory.mktemp("results"), CASE
        )
        assert records, printed
        return printed, records[0]

    yield once
    cluster.end()


def test_a_case_has_the_same_evidence_bare_and_inside(run, container, report_table):
    (printed, bare), (_, inside) = run({}), run(container)
    assert bare["case_result"] == inside["case_result"] == "pass", printed
    assert bare["image"] is None
    assert inside["image"] == container["image"]
    assert inside["container"] == container["platform"]
    assert inside["image_digest"].startswith("unknown (")
    for field in ("mpi", "nodelist", "placement", "binding", "metric"):
        assert inside[field] == bare[field], field
    assert inside["ports"]["carried_B"].keys() == bare["ports"]["carried_B"].keys()
    report_table(
        "inside to bare",
        [f"{container['platform']}: {inside['value'] / bare['value']:.2f}"],
    )


def test_another_mpi_fails_with_the_image(run, container):
    _, record = run(container | {"mpi": "mpich@1.0"})
    assert f"runs inside {container['image']}" in record["fail_reason"]
    assert "mpich@1.0" in record["fail_reason"]
