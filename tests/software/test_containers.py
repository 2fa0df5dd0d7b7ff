# SPDX-License-Identifier: BSD-3-Clause
"""The image that a partition or an environment names: its description, its digest, and what a job found
out."""

import hashlib
from types import SimpleNamespace

import pytest

from fabric_checks.core.errors import FabricError
from fabric_checks.core.extras import Container
from fabric_checks.software import containers
from fabric_checks.software.containers import digest_here, other_mpi

A = f"sha256:{'a' * 64}"


def of(of_environ, of_partition=None):
    extras = [
        {} if each is None else {"container": each}
        for each in (of_partition, of_environ)
    ]
    partition = SimpleNamespace(name="p", fullname="s:p", extras=extras[0])
    return containers.of(partition, SimpleNamespace(name="e", extras=extras[1]))


def test_the_environment_precedes_the_partition_and_without_image_nothing_is_inside():
    partition = {"platform": "Pyxis", "options": ["--no-container-mount-home"]}
    both = of({"image": "/i/osu.sqsh", "mpi": "mpich@4.3"}, partition)
    assert both == Container(
        "Pyxis", "/i/osu.sqsh", ("--no-container-mount-home",), "mpich@4.3"
    )
    assert of({"platform": "Sarus", "image": "x"}, partition).platform == "Sarus"
    assert of(None) is None and of(None, partition) is None
    assert of(None, {"platform": "Apptainer", "image": "/i/x.sif"}).image == "/i/x.sif"


@pytest.mark.parametrize(
    "given, says",
    [
        ("/i/x.sif", ["container", "'/i/x.sif'", "a mapping"]),
        (
            {"image": "x"},
            [
                "e in s:p",
                "no platform",
                "Apptainer, Singularity, Podman, Sarus, Pyxis, EDF",
            ],
        ),
        ({"image": "x", "platform": "podman"}, ["'podman'", "Podman"]),
        ({"image": "x", "platform": "Docker"}, ["'Docker'", "Apptainer"]),
        (
            {"image": "x", "platform": "Podman", "options": "--network=host"},
            ["options", "'--network=host'"],
        ),
        ({"image": 7, "platform": "Podman"}, ["image", "7"]),
        (
            {"image": "x", "platform": "Podman", "mpi": "mpich"},
            ["e in s:p", "'mpich'", "NAME@RELEASE"],
        ),
        (
            {"image": "x", "platform": "Podman", "mpi": "lam@7"},
            ["'lam@7'", "mpich, openmpi"],
        ),
        ({"image": "x", "platform": "Podman", "picture": "y"}, ["picture"]),
    ],
)
def test_a_wrong_description_is_refused_with_place_and_remedy(given, says):
    with pytest.raises(FabricError) as error:
        of(given)
    message = str(error.value)
    assert message.startswith("e") and "container" in message and "\n" not in message
    assert [each for each in says if each not in message] == [], message


def test_the_digest_of_a_file_is_that_of_sha256sum_also_after_a_change(
    tmp_path, monkeypatch
):
    image = tmp_path / "x.sif"
    monkeypatch.setenv("IMAGES", str(tmp_path))
    for content in (b"one", b"another"):
        image.write_bytes(content)
        for name in (str(image), "$IMAGES/x.sif"):
            assert (
                digest_here(Container("Apptainer", name))
                == f"sha256:{hashlib.sha256(content).hexdigest()}"
            )


def test_a_name_has_a_digest_only_if_it_says_so(tmp_path):
    assert digest_here(Container("Pyxis", f"registry.example/osu@{A}")) == A
    for unknown in ("registry.example/osu:7.4", "/no/such.sif", str(tmp_path)):
        assert digest_here(Container("Sarus", unknown)) is None
    (tmp_path / "osu.toml").write_text('image = "x.sqsh"')
    assert digest_here(Container("EDF", str(tmp_path / "osu.toml"))) is None


def test_another_mpi_than_the_declared_one_is_named_with_the_image():
    inside = Container("Podman", "osu:7.4", mpi="mpich@4.3")
    assert other_mpi(inside, "MPICH Version:\t4.3.1") == other_mpi(inside, None) == ""
    assert (
        other_mpi(Container("Podman", "osu:7.4"), "MPICH Version: 4.0.2")
        == other_mpi(None, "MPICH")
        == ""
    )
    text = other_mpi(inside, "MPICH Version: 4.0.2")
    assert text.startswith(
        "MPI: MPICH Version: 4.0.2 runs inside osu:7.4 (Podman), but `mpi` of its environment is "
    )
    assert "Open MPI v5.0.8" in other_mpi(inside, "Open MPI v5.0.8, package")
