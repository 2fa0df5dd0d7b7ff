# SPDX-License-Identifier: BSD-3-Clause
"""`--stack modules`: the template of a system with its own software, real programs by prefix and by real
modules."""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from fabric_checks.onboarding import examples
from fabric_checks.records import runs
from fabric_checks.software import installed
from tests import programs
from tests.conftest import TESTS

ROOT = TESTS.parent
REFRAME = Path(sys.executable).with_name("reframe")
MPICH, IMPI = installed.folder("mpich"), installed.folder("impi")
SESSION = "20260101T000000Z-test"
MODULE = shutil.which("modulecmd") or next(
    (str(path) for path in (Path("/usr/lib/x86_64-linux-gnu/modulecmd.tcl"),) if path.exists()), None
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
    (tmp_path / "config/references/yours.yaml").write_text("no_reference:\n- {check: '.*', why: a test}\n")
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
    command = [REFRAME, "-C", folder / "config/settings.py", *chosen, "--system", "yours", *arguments]
    return programs.run(command, env=env | variables)


def test_programs_by_prefix_run_the_same_checks(site):
    done = run(site, "-n", "^ImbPointToPoint.*PingPong|^HotSpot|^ImbAllPairs", "-r", checks=("imb", "fabric"))
    assert done.returncode == 0, done.stdout + done.stderr
    found = runs.load_session(site / "results", SESSION).records
    assert {record["check"] for record in found} == {"ImbPointToPoint", "HotSpot"}
    (imb,) = {record["stack"] for record in found if record["check"] == "ImbPointToPoint"}
    assert imb == "modules"
    (without,) = {tuple(sorted(record["not_offered"])) for record in found}
    assert without == ("imb_p2p",), "OSU and LAMMPS were not asked for"


def test_a_suite_that_is_not_named_is_not_run(site):
    done = run(site, "-l")
    assert "ImbNonBlocking" in done.stdout and "ImbOneSided" in done.stdout
    # IMB-P2P, OSU and LAMMPS are in no environment here.
    assert "ImbAllPairs" not in done.stdout


@pytest.mark.skipif(MODULE is None, reason="needs Environment Modules (Debian: environment-modules)")
def test_programs_by_module_run_the_same_checks(site):
    (site / "modules/openmpi").mkdir(parents=True)
    for name in ("osu", "imb", "lammps"):
        (site / f"modules/{name}").write_text(MODULEFILE.format(mpich=MPICH, impi=IMPI))
    (site / "modules/openmpi").rmdir()
    (site / "modules/openmpi").write_text(MODULEFILE.format(mpich=MPICH, impi=IMPI))
    file = site / "config/systems/yours.py"
    text = file.read_text().replace('"nomod"', '"envmod"').replace('["mpich-prefix"]', '["openmpi-modules"]')
    file.write_text(text)
    init = next(
        path
        for path in (Path("/usr/share/modules/init/bash"), Path("/etc/profile.d/modules.sh"))
        if path.exists()
    )
    env = programs.run(
        ["bash", "-c", f"source {init} && module use {site}/modules && env -0"], check=True
    ).stdout
    variables = dict(line.split("=", 1) for line in env.split("\0") if "=" in line)
    variables = {name: value for name, value in variables.items() if os.environ.get(name) != value}
    done = run(site, "-n", "^ImbPointToPoint.*PingPong", "-r", checks=("imb",), **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    found = runs.load_session(site / "results", SESSION).records
    assert {record["environ"] for record in found} == {"openmpi-modules"}
    (script,) = (site / "results").rglob("rfm_job.sh")
    assert "module load imb" in script.read_text() and "$IMB_ROOT/bin/IMB-MPI1" in script.read_text()


def test_a_stack_that_a_system_lacks_is_one_error(site):
    done = run(site, "-l", FABRIC_STACK="spack")
    assert done.returncode != 0
    (line,) = [line for line in done.stderr.splitlines() if "no environment of the stack" in line]
    assert "'spack'" in line and "yours" in line


def test_the_template_loads_as_it_stands(tmp_path):
    """Except for its `module` command, which this machine may not have."""
    shutil.copytree(ROOT / "config", tmp_path / "config")
    text = (ROOT / "config/templates/modules.py").read_text()
    (tmp_path / "config/systems/yours.py").write_text(text.replace('"lmod"', '"nomod"'))
    listed = run(tmp_path, "-l")
    for name in ("OsuPersistentLatency", "ImbOneSided", "LammpsBench", "NpbKernel %kernel=is"):
        assert name in listed.stdout, listed.stdout + listed.stderr


def test_a_cluster_with_slurm_and_modules_needs_two_copied_files(tmp_path):
    """Its dry run, with Environment Modules if this machine has them, and with no `module` command
    otherwise."""
    shutil.copytree(ROOT / "config", tmp_path / "config")
    files = examples.files("slurm")
    text = files["systems/yours.py"]
    command = "envmod" if shutil.which("modulecmd") else "nomod"
    (tmp_path / "config/systems/yours.py").write_text(text.replace('"lmod"', f'"{command}"'))
    (tmp_path / "config/references/yours.yaml").write_text(files["references/yours.yaml"])
    (tmp_path / "modules").mkdir()
    for name in ("openmpi/5.0.8", "osu-micro-benchmarks", "imb", "lammps", "npb/3.4.3"):
        (tmp_path / "modules" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "modules" / name).write_text("#%Module1.0\n")
    cases = ["OsuLatency%layout=2x1", "ImbBarrier%layout=16x64", "LammpsBench%problem=lj%layout=2x2"]
    names = "|".join(f"^{case}" for case in [*cases, "Rotate%pattern=rotate%layout=16x1"])
    done = run(tmp_path, "-n", names, "--dry-run", MODULEPATH=str(tmp_path / "modules"))
    assert done.returncode == 0, done.stdout + done.stderr
    scripts = {
        path.parent.name.split("_")[0]: path.read_text() for path in tmp_path.rglob("stage/**/rfm_job.sh")
    }
    assert set(scripts) >= {"OsuLatency", "ImbBarrier", "LammpsBench", "Rotate"}
    for option in (
        "--nodes=16",
        "--ntasks=1024",
        "--ntasks-per-node=64",
        "--exclusive",
        "--partition=compute",
    ):
        assert f"#SBATCH {option}\n" in scripts["ImbBarrier"]
    assert "SLURM_MPI_TYPE=pmix" in scripts["Rotate"]
    assert (
        "/apps/osu-micro-benchmarks/7.5/libexec/osu-micro-benchmarks/mpi/pt2pt/osu_latency"
        in scripts["OsuLatency"]
    )
    assert command == "nomod" or "module load openmpi" in scripts["LammpsBench"]
