# SPDX-License-Identifier: BSD-3-Clause
"""Scopes: their variables, their includes, and what they ask of a package."""

from pathlib import Path

import pytest
import yaml

from fabric_checks.software.spack.failure import SpackError
from fabric_checks.software.spack.scopes import Scopes, load, parse_requirement, render
from fabric_checks.software.spack.tool import scope_defaults
from fabric_checks.software.suites import PACKAGES
from tests.conftest import ROOT
from tests.software.spack.tape import COMMON, LOCAL, OSU, put

ENVIRONMENTS = sorted(
    path.parent for path in (ROOT / "spack-envs").glob("*/spack.yaml")
)
MPIS = sorted(path for path in LOCAL.iterdir() if path.name != "site")


def test_rendering_expands_our_variables_and_leaves_those_of_spack(tmp_path):
    put(
        tmp_path / "in/packages.yaml",
        "a: ${FABRIC_HOME}/x # ${FABRIC_HOME}\nb: $spack/${spack}/$user_cache_path\n",
    )
    put(tmp_path / "out/stale.yaml", "mirrors: {}\n")
    out = render(tmp_path / "in", tmp_path / "out", {"FABRIC_HOME": "/h"})
    assert (
        out / "packages.yaml"
    ).read_text() == "a: /h/x # /h\nb: $spack/${spack}/$user_cache_path\n"
    assert [path.name for path in out.iterdir()] == ["packages.yaml"]


def test_a_variable_that_is_not_set_is_named_with_its_line(tmp_path):
    file = put(tmp_path / "in/packages.yaml", "a: 1\nb: ${NO_SUCH}\n")
    with pytest.raises(
        SpackError, match=f"^{file}:2: the environment variable NO_SUCH is not set"
    ):
        render(tmp_path / "in", tmp_path / "out", {})


def test_a_missing_or_empty_scope_is_an_error(tmp_path):
    with pytest.raises(
        SpackError,
        match="this Spack scope does not exist; create it, or correct its path",
    ):
        render(tmp_path / "nowhere", tmp_path / "out", {})
    (tmp_path / "empty").mkdir()
    with pytest.raises(SpackError, match=r"this Spack scope has no \.yaml file"):
        render(tmp_path / "empty", tmp_path / "out", {})


@pytest.fixture
def scopes(tmp_path):
    """Make three scopes, the first of which has two files."""
    put(
        tmp_path / "strong/a.yaml",
        "packages: {mpi: {require: ['mpich@5.0.2']}, a: {require: '@1'}}\n",
    )
    put(
        tmp_path / "strong/b.yaml",
        "packages: {a: {require: '@2'}, b: {require: '@3 +x'}}\n",
    )
    put(tmp_path / "site/packages.yaml", "packages: {b: {require: '@4'}}\n")
    put(
        tmp_path / "weak/packages.yaml",
        "packages: {a: {require: '@5'}, c: {require: [{any_of: [x]}]}, d: }\n",
    )
    return Scopes(tmp_path / "strong", tmp_path / "site", tmp_path / "weak")


def test_the_strongest_requirement_holds(scopes):
    assert scopes.requirement("mpi") == "mpich@5.0.2"
    assert scopes.requirement("a") == "@1"
    assert scopes.requirement("b") == "@3 +x"
    assert scopes.requirement("d") is None
    with pytest.raises(SpackError, match="`require` of c must be a single string here"):
        scopes.requirement("c")


def test_an_included_scope_is_refused(scopes):
    put(scopes.environ / "include.yaml", "include: [more]\n")
    with pytest.raises(
        SpackError,
        match=r"include\.yaml: `include` is not supported here; put the included files",
    ):
        scopes.requirement("d")


@pytest.mark.parametrize(
    "text, name, version",
    [
        ("@7.5.2", "", "7.5.2"),
        ("@=7.5.2", "", "7.5.2"),
        ("@20250722.3 ~lib+mpi fft=kiss", "", "20250722.3"),
        ("mpich@5.0.2~fortran", "mpich", "5.0.2"),
        ("intel-oneapi-mpi", "intel-oneapi-mpi", None),
        ("+papi", "", None),
        ("@7:", "", None),
        ("@7:8", "", None),
        ("@7,8", "", None),
    ],
)
def test_a_requirement_has_a_name_and_a_release(text, name, version):
    assert parse_requirement(text) == (name, version)


@pytest.mark.parametrize(
    "text, message",
    [("a: [", "not valid YAML"), ("- a", "a list where a mapping is exp")],
)
def test_a_file_without_a_mapping_is_no_configuration(tmp_path, text, message):
    with pytest.raises(SpackError, match=message):
        load(put(tmp_path / "x.yaml", text))
    assert load(put(tmp_path / "y.yaml", "# nothing\n")) == {}


# Packages


def of_site(tmp_path, text="packages: {}\n"):
    put(tmp_path / "site/packages.yaml", text)
    return Scopes(LOCAL / "mpich", tmp_path / "site", COMMON)


#: Those that a site with GPUs requires itself.
OF_GPUS = ("nccl-tests", "rccl-tests")


def test_a_site_can_ask_for_another_release_and_variant(tmp_path):
    text = "packages: {osu-micro-benchmarks: {require: '@6.2 +cuda'}}\n"
    found = of_site(tmp_path, text).asked(OSU)
    assert found == ("@6.2 +cuda", "6.2")
    offered = OSU.describe(*found)
    assert "osu_cuda" in offered.features and "osu_7_4" in offered.without
    assert offered.description["smallest_message_B"] == 0


def test_a_site_can_exclude_a_package(tmp_path):
    npb = PACKAGES["npb"]
    assert of_site(tmp_path).why_not(npb) is None
    reason = of_site(tmp_path, "packages: {npb: {buildable: false}}\n").why_not(npb)
    assert reason == f"{tmp_path}/site/packages.yaml sets `buildable: false` for npb"
    text = "packages: {npb: {buildable: false, externals: [{spec: npb@3.4.3, prefix: /apps/npb}]}}\n"
    assert of_site(tmp_path, text).why_not(npb) is None


def test_a_release_and_an_mpi_have_to_be_required(tmp_path):
    site = of_site(
        tmp_path, "packages: {osu-micro-benchmarks: {require: '+papi'}}\n"
    ).site
    with pytest.raises(
        SpackError, match="no scope requires a release of osu-micro-benchmarks; write"
    ):
        Scopes(LOCAL / "mpich", site, COMMON).asked(OSU)
    put(tmp_path / "empty/packages.yaml", "packages: {}\n")
    with pytest.raises(
        SpackError, match=r"empty: requires no MPI, so Spack would choose one; write"
    ):
        Scopes(tmp_path / "empty", site, COMMON).asked(PACKAGES["npb"])


# The environments and scopes of the collection


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda path: path.name)
def test_an_environment_includes_the_three_scopes_and_nothing_of_a_site(environment):
    text = yaml.safe_load((environment / "spack.yaml").read_text())["spack"]
    assert set(text) == {"include", "specs", "view", "concretizer"}
    names = Scopes(*map(Path, "abc")).variables()
    assert [entry["path_override_env_var"] for entry in text["include"]] == list(names)
    assert text["specs"] == [environment.name]
    assert [path.name for path in environment.iterdir()] == ["spack.yaml"], (
        "a lock must not be committed"
    )


def test_each_package_has_an_environment():
    assert {path.name for path in ENVIRONMENTS} == set(PACKAGES)


@pytest.mark.parametrize("mpi", MPIS, ids=lambda path: path.name)
def test_our_scopes_render_and_require_releases(mpi, tmp_path):
    scopes = Scopes(mpi, LOCAL / "site", COMMON).rendered(tmp_path, scope_defaults())
    for name, package in PACKAGES.items():
        if name not in OF_GPUS:
            _, version = scopes.asked(package)
            assert version and parse_requirement(scopes.requirement("mpi"))[1]
