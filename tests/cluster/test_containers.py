# SPDX-License-Identifier: BSD-3-Clause
"""The same case bare and inside an image, by the Podman and the Apptainer of this machine, on a real cluster.

The image has empty folders only, into which the system and the MPI of the host are mounted.
"""

import json
import shutil

import pytest

from fabric_checks.core.paths import home
from tests import programs
from tests.cluster.conftest import CI, TESTS, Cluster

NAME = "localhost/fabric-checks-test"
MOUNTED = ("/usr", "/etc", str(home()))


@pytest.fixture(scope="module", params=["Podman", "Apptainer"])
def container(request, machine, tmp_path_factory):
    """Return the description of an image for a runtime; without one that works the test is skipped with its error."""
    command = request.param.lower()
    if shutil.which(command) is None:
        pytest.skip(f"{command} is not installed")
    root = tmp_path_factory.mktemp("image")
    for name in ("usr", "etc", "proc", "sys", "dev", "tmp", "root"):
        (root / name).mkdir()
    for name in ("bin", "lib", "lib64", "sbin"):
        (root / name).symlink_to(f"usr/{name}")
    option, start, image = ("-B", ["exec"], str(root)) if command == "apptainer" else ("-v", ["run", "--rm"], NAME)
    if command == "podman":
        programs.run(["sh", "-c", f"tar -C {root} -c . | podman import - {NAME}"])
        request.addfinalizer(lambda: programs.run(["podman", "rmi", NAME]))
    options = [f"{option}{folder}:{folder}" for folder in MOUNTED]
    done = programs.run([command, *start, *options, image, "true"])
    if done.returncode != 0:
        pytest.skip(f"{command} starts nothing here: {done.stderr.strip().splitlines()[-1]}")
    return {"platform": request.param, "image": image, "options": options}


@pytest.fixture(scope="module")
def run(machine, tmp_path_factory):
    """Return a function that runs a case between two nodes inside an image: what is printed, and its first record."""
    cluster = Cluster()
    cluster("up", "--nodes", "2", "--rate", "none")

    def once(inside):
        results = tmp_path_factory.mktemp("results")
        line = [CI / "run", "--system", "minicluster", "-n", "^Notification%wait=default%layout=2x1$"]
        line += ["-C", TESTS / "cluster" / "containers" / "settings.py"]
        variables = {"FABRIC_RESULTS": str(results), "FABRIC_MPI": "mpich", "INSIDE": json.dumps(inside)}
        done = cluster.call("exec", "head", "--", *map(str, line), **variables)
        paths = list(results.rglob("Notification.jsonl"))
        assert paths, done.stdout + done.stderr
        return done.stdout + done.stderr, json.loads(paths[0].read_text().splitlines()[0])

    yield once
    cluster.end()


def test_a_case_has_the_same_evidence_bare_and_inside(run, container, report_table):
    (printed, bare), (_, inside) = run({}), run(container)
    assert bare["case_result"] == inside["case_result"] == "pass", printed
    assert (bare["image"], inside["image"], inside["container"]) == (None, container["image"], container["platform"])
    assert inside["image_digest"].startswith("sha256:" if container["platform"] == "Podman" else "unknown (")
    for field in ("mpi", "nodelist", "placement", "binding", "metric"):
        assert inside[field] == bare[field], field
    assert inside["ports"]["carried_B"].keys() == bare["ports"]["carried_B"].keys()
    report_table("inside to bare", [f"{container['platform']}: {inside['value'] / bare['value']:.2f}"])


def test_another_mpi_and_a_private_network_fail_with_the_image(run, container):
    _, record = run(container | {"mpi": "mpich@1.0"})
    assert f"runs inside {container['image']}" in record["fail_reason"] and "mpich@1.0" in record["fail_reason"]
    if container["platform"] == "Podman":
        _, record = run(container | {"options": [*container["options"], "--network=none"]})
        assert "runs with a network of its own" in record["fail_reason"]
