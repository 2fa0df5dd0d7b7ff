# SPDX-License-Identifier: BSD-3-Clause
"""`--stack modules`: the template of a system with its own software, real programs by prefix and by real
modules."""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from fabric_checks.records import runs
from fabric_checks.software import installed
from tests import programs
from tests.conftest import ROOT

REFRAME = Path(sys.executable).with_name("reframe")
MPICH, IMPI = installed.folder("mpich"), installed.folder("impi")
SESSION = "20260101T000000Z-test"
MODULE = shutil.which("modulecmd") or next(
    (
        str(path)
        for path in (Path("/usr/lib/x86_64-linux-gnu/modulecmd.tcl"),)
        if path.exists()
    ),
    None,
)

MODULEFILE = """#%Module1.0
prepend-path PATH {mpich}/bin
prepend-path LD_LIBRARY_PATH {mpich}/lib
setenv HYDRA_LAUNCHER fork
setenv IMB_ROOT {impi}
"""


@pytest.fixture
def site(tmp_path):
    """Return a folder with the configuration and the template's system, with the prefixes of installed
    software."""
    shutil.copytree(ROOT / "config", tmp_path / "config")
    text = (ROOT / "config/templates/modules.py").read_text()
    text = text.replace("/apps/mpich", str(MPICH)).replace("/apps/imb", str(IMPI))
    text = text.replace('"lmod"', '"nomod"').replace(
        '["openmpi-modules", "mpich-prefix"]', '["mpich-prefix"]'
    )
    # This machine may have no NPB.
    text = re.sub(r"\n *npb\.installed\(.*\),", "", text)
    (tmp_path / "config/systems/yours.py").write_text(text)
    (tmp_path / "config/references/yours.yaml").write_text(
        "no_reference:\n- {check: '.*', why: a test}\n"
    )
    return tmp_path


def run(folder, *arguments, checks=(".",), **variables):
    """Run ReFrame on a configuration with the checks of all suites, or of a few, which are loaded sooner."""
    env = os.environ | {
        "FABRIC_RESULTS": str(folder / "results"),
        "FABRIC_SESSION": SESSION,
        "FABRIC_STACK": "modules",
        "RFM_REFERENCE_PREFIX": str(folder / "config/references"),
    }
    chosen = [word for name in checks for word in ("-c", ROOT / "checks" / name)]
    command = [
        REFRAME,
        "-C",
        folder / "config/settings.py",
        *chosen,
        "--system",
        "yours",
        *arguments,
    ]
    return programs.run(command, env=env | variables)


def test_programs_by_prefix_run_the_same_checks(site):
    done = run(
        site,
        "-n",
        "^ImbPointToPoint.*PingPong|^HotSpot",
        "-r",
        checks=("imb", "fabric"),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = runs.load_session(site / "results", SESSION).records
    assert {record["check"] for record in found} == {"ImbPointToPoint", "HotSpot"}
    (imb,) = {
        record["stack"] for record in found if record["check"] == "ImbPointToPoint"
    }
    assert imb == "modules"
    (without,) = {tuple(sorted(record["not_offered"])) for record in found}
    assert without == (), "OSU and LAMMPS were not asked for"


@pytest.mark.skipif(
    MODULE is None, reason="needs Environment Modules (Debian: environment-modules)"
)
def test_programs_by_module_run_the_same_checks(site):
    (site / "modules/openmpi").mkdir(parents=True)
    for name in ("osu", "imb", "lammps"):
        (site / f"modules/{name}").write_text(MODULEFILE.format(mpich=MPICH, impi=IMPI))
    (site / "modules/openmpi").rmdir()
    (site / "modules/openmpi").write_text(MODULEFILE.format(mpich=MPICH, impi=IMPI))
    file = site / "config/systems/yours.py"
    text = (
        file.read_text()
        .replace('"nomod"', '"envmod"')
        .replace('["mpich-prefix"]', '["openmpi-modules"]')
    )
    file.write_text(text)
    init = next(
        path
        for path in (
            Path("/usr/share/modules/init/bash"),
            Path("/etc/profile.d/modules.sh"),
        )
        if path.exists()
    )
    env = programs.run(
        ["bash", "-c", f"source {init} && module use {site}/modules && env -0"],
        check=True,
    ).stdout
    variables = dict(line.split("=", 1) for line in env.split("\0") if "=" in line)
    variables = {
        name: value
        for name, value in variables.items()
        if os.environ.get(name) != value
    }
    done = run(
        site, "-n", "^ImbPointToPoint.*PingPong", "-r", checks=("imb",), **variables
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = runs.load_session(site / "results", SESSION).records
    assert {record["environ"] for record in found} == {"openmpi-modules"}
    (script,) = (site / "results").rglob("rfm_job.sh")
    assert "module load imb" in script.read_text()
    assert "$IMB_ROOT/bin/IMB-MPI1" in script.read_text()


def test_a_stack_that_a_system_lacks_is_one_error(site):
    done = run(site, "-l", FABRIC_STACK="spack")
    assert done.returncode != 0
    (line,) = [
        line
        for line in done.stderr.splitlines()
        if "no environment of the stack" in line
    ]
    assert "'spack'" in line and "yours" in line
