# SPDX-License-Identifier: BSD-3-Clause
"""Rendering scopes, following includes, and what a scope requires."""

import os
from pathlib import Path

import pytest
import yaml

from fabric_checks.software.spack import SpackError
from fabric_checks.software.spack.scopes import included, load, render, required_version, requirement
from fabric_checks.software.spack.tool import scope_defaults
from tests.conftest import TESTS

ROOT = TESTS.parent
ENVIRONMENTS = sorted(path.parent for path in (ROOT / "spack-envs").glob("*/spack.yaml"))
LOCAL = ROOT / "config/systems/local/spack"
MPIS = sorted(path for path in LOCAL.iterdir() if path.name != "site")


def write(path, text):
    """Write a file and the folders it needs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_render_expands_our_variables_and_leaves_spacks(tmp_path):
    write(tmp_path / "in/packages.yaml", "a: ${FABRIC_HOME}/x # ${FABRIC_HOME}\nb: $spack/${spack}/$user_cache_path\n")
    out = render(tmp_path / "in", tmp_path / "out", {"FABRIC_HOME": "/h"})
    assert (out / "packages.yaml").read_text() == "a: /h/x # /h\nb: $spack/${spack}/$user_cache_path\n"


def test_render_replaces_what_was_there(tmp_path):
    write(tmp_path / "in/config.yaml", "config: {}\n")
    write(tmp_path / "out/mirrors.yaml", "mirrors: {}\n")
    render(tmp_path / "in", tmp_path / "out", {})
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["config.yaml"]


def test_render_names_the_variable_that_is_missing(tmp_path):
    file = write(tmp_path / "in/packages.yaml", "a: 1\nb: ${NO_SUCH}\n")
    with pytest.raises(SpackError, match=f"^{file}:2: the environment variable NO_SUCH is not set"):
        render(tmp_path / "in", tmp_path / "out", {})


def test_a_scope_that_is_missing_or_empty(tmp_path):
    with pytest.raises(SpackError, match="this Spack scope does not exist; create it, or correct its path"):
        render(tmp_path / "nowhere", tmp_path / "out", {})
    (tmp_path / "empty").mkdir()
    with pytest.raises(SpackError, match=r"this Spack scope has no \.yaml file"):
        render(tmp_path / "empty", tmp_path / "out", {})


@pytest.fixture
def environment(tmp_path):
    """Make an environment with three scopes, one of which includes a fourth."""
    write(
        tmp_path / "env/spack.yaml",
        "spack:\n  include:\n  - {name: strong, path: /unset, path_override_env_var: STRONG, optional: true}\n"
        "  - ../weak\n  specs: [zlib]\n",
    )
    write(tmp_path / "strong/packages.yaml", "packages: {mpi: {require: ['mpich@5.0.2']}, a: {require: '@1'}}\n")
    write(tmp_path / "strong/include.yaml", "include: [more]\n")
    write(tmp_path / "strong/more/packages.yaml", "packages: {a: {require: '@2'}, b: {require: '@3 +x'}}\n")
    write(tmp_path / "weak/packages.yaml", "packages: {a: {require: '@4'}, c: {require: [{any_of: [x]}]}, d: }\n")
    return tmp_path / "env"


def test_included_follows_the_includes_strongest_first(environment, tmp_path):
    found = included(environment, {"STRONG": str(tmp_path / "strong")})
    assert [path.resolve() for path in found] == [tmp_path / "strong", tmp_path / "strong/more", tmp_path / "weak"]


def test_an_optional_scope_has_to_be_there_too(environment):
    with pytest.raises(SpackError, match="^/unset: this Spack scope does not exist"):
        included(environment, {})


def test_what_cannot_be_followed(tmp_path):
    write(tmp_path / "spack.yaml", "spack: {include: [{git: https://example.com/x, paths: [a]}]}\n")
    with pytest.raises(SpackError, match="has no path; only paths can be followed"):
        included(tmp_path, {})


def test_the_strongest_requirement_holds(environment, tmp_path):
    scopes = included(environment, {"STRONG": str(tmp_path / "strong")})
    assert requirement(scopes, "mpi") == "mpich@5.0.2"
    assert requirement(scopes, "a") == "@1"
    assert requirement(scopes, "b") == "@3 +x"
    assert requirement(scopes, "d") is None
    with pytest.raises(SpackError, match="`require` of c must be a single string here"):
        requirement(scopes, "c")


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("@7.5.2", "7.5.2"),
        ("@=7.5.2", "7.5.2"),
        ("@20250722.3 ~lib+mpi fft=kiss", "20250722.3"),
        ("mpich@5.0.2~fortran", "5.0.2"),
        ("+papi", None),
        ("@7:", None),
        ("@7:8", None),
        ("@7,8", None),
    ],
)
def test_required_versions(text, version):
    assert required_version(text) == version


@pytest.mark.parametrize(("text", "message"), [("a: [", "not YAML"), ("- a", "a list where a mapping is expected")])
def test_what_is_no_configuration(tmp_path, text, message):
    with pytest.raises(SpackError, match=message):
        load(write(tmp_path / "x.yaml", text))
    assert load(write(tmp_path / "y.yaml", "# nothing\n")) == {}


# The collection's own environments and scopes


def test_there_is_an_environment_for_each_package():
    assert [path.name for path in ENVIRONMENTS] == ["intel-mpi-benchmarks", "lammps", "npb", "osu-micro-benchmarks"]


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda path: path.name)
@pytest.mark.parametrize("mpi", MPIS, ids=lambda path: path.name)
def test_our_environments_get_their_scopes_and_pins(environment, mpi, tmp_path):
    variables = {**os.environ, **scope_defaults()}
    copy = write(tmp_path / "env/spack.yaml", (environment / "spack.yaml").read_text()).parent
    variables["FABRIC_SPACK_ENVIRON"] = str(render(mpi, tmp_path / "environ", variables))
    variables["FABRIC_SPACK_SITE"] = str(render(LOCAL / "site", tmp_path / "site", variables))
    variables["FABRIC_SPACK_COMMON"] = str(ROOT / "spack-envs/common")
    scopes = included(copy, variables)
    assert scopes == [Path(variables[f"FABRIC_SPACK_{name}"]) for name in ("ENVIRON", "SITE", "COMMON")]
    assert required_version(requirement(scopes, environment.name)), "no pinned release"
    assert required_version(requirement(scopes, "mpi"))


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda path: path.name)
def test_nothing_that_a_site_may_change_stands_in_an_environment(environment):
    said = yaml.safe_load((environment / "spack.yaml").read_text())["spack"]
    assert set(said) == {"include", "specs", "view", "concretizer"}
    assert said["specs"] == [environment.name]
    assert [path.name for path in environment.iterdir()] == ["spack.yaml"], "a lock must not be committed"


def values(data):
    """Return all texts in a configuration."""
    if isinstance(data, dict):
        return [text for value in data.values() for text in values(value)]
    if isinstance(data, list):
        return [text for value in data for text in values(value)]
    return [data] if isinstance(data, str) else []


def test_no_scope_names_a_path_of_one_machine():
    for file in [*LOCAL.rglob("*.yaml"), *(ROOT / "spack-envs").rglob("*.yaml")]:
        for text in values(load(file)):
            assert "/" not in text or text.startswith(("${FABRIC_HOME}/", "../", "/set/", "https://")), (
                f"{file}: {text}"
            )
