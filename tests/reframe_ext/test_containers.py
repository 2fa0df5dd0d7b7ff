# SPDX-License-Identifier: BSD-3-Clause
"""A case inside an image: what enters Podman, its part of the record, and the sentences that name the image."""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from reframe.core.exceptions import SanityError

from fabric_checks.reframe_ext.mixins import ContainerMixin, RecordMixin
from fabric_checks.reframe_ext.mixins.container import FOUND, inside
from fabric_checks.software.containers import Container
from tests.reframe_ext.test_ports import MUCH, Check

A = f"sha256:{'a' * 64}"
OSU = {"platform": "Podman", "image": "osu:7.4", "mpi": "mpich@4.3"}
APART, TOGETHER = "net:[7]\nnet:[8]\n", "net:[7]\nnet:[7]\n"


class Inside(ContainerMixin, Check, RecordMixin):
    """A case of an environment inside an image."""

    stderr, stdout = "rfm_job.err", "rfm_job.out"

    def __init__(self, stage, found, container=OSU, *, mpi="MPICH Version: 4.3.1", **options):
        super().__init__(stage, **options)
        extras = {"container": container} if container else {}
        self.current_environ = SimpleNamespace(name="e", extras=extras)
        self.facts = SimpleNamespace(findings=None, ports=None, mpi=mpi, image=None)
        (Path(stage) / FOUND).write_text(found)

    @property
    def texts(self):
        return [each["text"] for each in self.facts.findings or []]


def test_the_record_has_platform_image_and_digest(tmp_path):
    case = Inside(tmp_path, f"{TOGETHER}{A}\n")
    case.note_image()
    facts = case.facts
    assert (facts.container, facts.image, facts.image_digest, case.texts) == ("Podman", "osu:7.4", A, [])
    bare = Inside(tmp_path, APART, None)
    bare.note_image()
    assert bare.facts.image is None and not bare.texts and bare.with_cause("x") == "x"


def test_a_digest_that_cannot_be_had_is_unknown_with_the_name_of_the_image(tmp_path):
    case = Inside(tmp_path, TOGETHER)
    case.note_image()
    assert case.facts.image_digest == "unknown (osu:7.4)"


def test_a_network_of_its_own_comes_first_in_a_failure_between_nodes_alone(tmp_path):
    private = "osu:7.4 (Podman) runs with a network of its own: give it the host's (Podman: `--network=host`)"
    (tmp_path / "rfm_job.err").write_text("UCX ERROR: Destination is unreachable\n")
    apart = Inside(tmp_path, APART).with_cause("it ended")
    assert apart.startswith(f"{private}; inside osu:7.4 (Podman): UCX has no transport to the other process")
    noted = Inside(tmp_path, APART)
    noted.note_image()
    assert noted.texts == [private]
    for case in (Inside(tmp_path, TOGETHER), Inside(tmp_path, APART, layout="1x2"), Inside(tmp_path, "")):
        assert case.with_cause("it ended").startswith("inside osu:7.4 (Podman): UCX has no transport")


def test_traffic_over_another_network_names_the_image(stage):
    case = Inside(stage, TOGETHER, fabric=["mlx5_9"])
    with pytest.raises(SanityError, match=r"^inside osu:7\.4 \(Podman\): nodes n1, n2 have no port mlx5_9"):
        case.hold_to_ports("")
    with pytest.raises(SanityError, match=r"^bandwidth|^n1|^nodes") as bare:
        Inside(stage, TOGETHER, None, fabric=["mlx5_9"]).hold_to_ports("")
    assert "inside" not in str(bare.value)


def test_another_mpi_inside_fails_the_case_and_explains_a_wrong_placement(tmp_path, monkeypatch):
    monkeypatch.setattr(Check, "verify_placement", lambda _: None)
    Inside(tmp_path, TOGETHER).verify_placement()
    other = Inside(tmp_path, TOGETHER, mpi="Open MPI v5.0.8")
    with pytest.raises(SanityError, match=r"^MPI: Open MPI v5\.0\.8 runs inside osu:7\.4 \(Podman\), but `mpi`"):
        other.verify_placement()
    assert re.match(
        r"MPI: Open MPI.*; inside osu:7\.4 \(Podman\): placement: 1 rank$", other.of_image("placement: 1 rank")
    )


def test_podman_gets_the_environment_without_search_paths_and_the_descriptor_of_pmi(tmp_path):
    stand_in = tmp_path / "podman"
    stand_in.write_text('#!/bin/sh\nprintf "%s\\n" "$@"; echo "PMI_FD $PMI_FD"; cat <&3\n')
    stand_in.chmod(0o755)
    options = ("--network=bridge", "--device=/dev/x")
    line = " ".join(inside(Container("Podman", "osu:7.4", options), ["osu_bw", "-m 1:8"], [tmp_path]))
    (tmp_path / "wire").write_text("cmd=init\n")
    environment = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "LD_LIBRARY_PATH": "/of/host",
        "UCX_TLS": "a b",
        "PMI_FD": "11",
    }
    script = f"exec 11< {shlex.quote(str(tmp_path / 'wire'))}; {line}"
    done = subprocess.run(
        [shutil.which("bash"), "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    words = done.stdout.splitlines()
    assert words[-6:] == ["osu:7.4", "osu_bw", "-m", "1:8", "PMI_FD 3", "cmd=init"]
    assert {"--preserve-fds=1", "--env=UCX_TLS", "--env=PMI_FD", "--pid=host", *options} <= set(words)
    assert not {"--env=PATH", "--env=LD_LIBRARY_PATH", "--network=host"} & set(words)


@pytest.fixture
def stage(tmp_path):
    (tmp_path / "ports").mkdir()
    for node in ("n1", "n2"):
        (tmp_path / "ports" / f"{node}.txt").write_text(MUCH.replace("# node: n1", f"# node: {node}"))
    return tmp_path
