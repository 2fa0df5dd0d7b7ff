# SPDX-License-Identifier: BSD-3-Clause
"""`--stack modules`: the template of a system with its own software, real programs by prefix and by real modules."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fabric_checks.records import runs
from fabric_checks.software import installed
from tests.conftest import TESTS
from tests.guard import GUARD_S

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
    """Return the shipped configuration with the template's system added, its names those of software that is here."""
    shutil.copytree(ROOT / "config", tmp_path / "config")
    text = (ROOT / "config/templates/modules.py").read_text()
    text = text.replace("/apps/mpich", str(MPICH)).replace("/apps/imb", str(IMPI))
    text = text.replace('"lmod"', '"nomod"').replace('["openmpi-modules", "mpich-prefix"]', '["mpich-prefix"]')
    # The tests' machine may have no NPB; its line is kept out rather than its check broken.
    text = re.sub(r"\n *npb\.installed\(.*\),", "", text)
    (tmp_path / "config/systems/yours.py").write_text(text)
    (tmp_path / "config/references").mkdir(exist_ok=True)
    (tmp_path / "references").mkdir()
    (tmp_path / "references/yours.yaml").write_text("no_reference:\n- {check: '.*', why: a test}\n")
    return tmp_path


def run(site, *arguments, stack="modules", checks=(".",), **environment):
    """Run ReFrame with the checks of all suites, or of those that are named, which are loaded sooner."""
    env = (
        os.environ
        | environment
        | {
            "FABRIC_RESULTS": str(site / "results"),
            "FABRIC_SESSION": SESSION,
            "FABRIC_STACK": stack,
            "RFM_REFERENCE_PREFIX": str(site / "references"),
        }
    )
    chosen = [word for name in checks for word in ("-c", ROOT / "checks" / name)]
    command = [REFRAME, "-C", site / "config/settings.py", *chosen, "--system", "yours", *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=GUARD_S)


def test_programs_by_prefix_run_the_same_checks(site):
    done = run(site, "-n", "^ImbPointToPoint.*PingPong|^HotSpot", "-r", checks=("imb", "fabric"))
    assert done.returncode == 0, done.stdout + done.stderr
    found = runs.load_session(site / "results", SESSION).records
    assert {record["check"] for record in found} == {"ImbPointToPoint", "HotSpot"}
    (imb,) = {record["stack"] for record in found if record["check"] == "ImbPointToPoint"}
    assert imb == "modules"
    (without,) = {tuple(sorted(record["not_offered"])) for record in found}
    assert {"osu", "lammps", "imb_p2p"} <= set(without)


def test_what_is_not_named_is_not_run(site):
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
    text = file.read_text().replace('"nomod"', '"tmod4"').replace('["mpich-prefix"]', '["openmpi-modules"]')
    file.write_text(text)
    init = next(
        path for path in (Path("/usr/share/modules/init/bash"), Path("/etc/profile.d/modules.sh")) if path.exists()
    )
    env = subprocess.run(
        ["bash", "-c", f"source {init} && module use {site}/modules && env -0"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    variables = dict(line.split("=", 1) for line in env.split("\0") if "=" in line)
    done = run(site, "-n", "^ImbPointToPoint.*PingPong", "-r", checks=("imb",), **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    found = runs.load_session(site / "results", SESSION).records
    assert {record["environ"] for record in found} == {"openmpi-modules"}
    (script,) = (site / "results").rglob("rfm_job.sh")
    assert "module load imb" in script.read_text() and "$IMB_ROOT/bin/IMB-MPI1" in script.read_text()


def test_a_stack_that_a_system_does_not_have_is_said_in_one_line(site):
    done = run(site, "-l", stack="spack")
    assert done.returncode != 0
    (line,) = [line for line in done.stderr.splitlines() if "no environment of the stack" in line]
    assert "'spack'" in line and "yours" in line


def test_the_template_loads_as_it_stands(tmp_path):
    """But for its `module` command, which this machine may not have."""
    shutil.copytree(ROOT / "config", tmp_path / "config")
    text = (ROOT / "config/templates/modules.py").read_text()
    (tmp_path / "config/systems/yours.py").write_text(text.replace('"lmod"', '"nomod"'))
    env = os.environ | {"FABRIC_RESULTS": str(tmp_path / "results"), "FABRIC_STACK": "modules"}
    settings = ["-C", tmp_path / "config/settings.py", "--system", "yours"]
    done = subprocess.run(
        [REFRAME, *settings, "--show-config=systems/0/name"], env=env, capture_output=True, text=True, timeout=GUARD_S
    )
    assert done.returncode == 0 and "yours" in done.stdout, done.stdout + done.stderr
    listed = subprocess.run(
        [REFRAME, *settings, "-c", ROOT / "checks", "-l"], env=env, capture_output=True, text=True, timeout=GUARD_S
    )
    for name in ("OsuPersistentLatency", "ImbOneSided", "LammpsBench", "NpbKernel %kernel=is"):
        assert name in listed.stdout, listed.stdout + listed.stderr


def test_a_cluster_with_slurm_and_modules_is_two_files_that_are_copied(tmp_path):
    """Its dry run, with Environment Modules if this machine has them, and with no `module` command otherwise."""
    shutil.copytree(ROOT / "config", tmp_path / "config")
    text = (ROOT / "config/templates/slurm_modules.py").read_text()
    command = "envmod" if shutil.which("modulecmd") else "nomod"
    (tmp_path / "config/systems/yours.py").write_text(text.replace('"lmod"', f'"{command}"'))
    shutil.copy(ROOT / "config/templates/references.yaml", tmp_path / "config/references/yours.yaml")
    (tmp_path / "modules").mkdir()
    for name in ("openmpi/5.0.8", "osu-micro-benchmarks", "imb", "lammps", "npb/3.4.3"):
        (tmp_path / "modules" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "modules" / name).write_text("#%Module1.0\n")
    env = os.environ | {"FABRIC_RESULTS": str(tmp_path / "results"), "FABRIC_STACK": "modules"}
    env |= {"MODULEPATH": str(tmp_path / "modules"), "RFM_REFERENCE_PREFIX": str(tmp_path / "config/references")}
    cases = ["OsuLatency%layout=2x1", "ImbBarrier%layout=16x64", "LammpsBench%problem=lj%layout=2x2"]
    names = "|".join(f"^{case}" for case in [*cases, "Rotate%pattern=rotate%layout=16x1"])
    line = [REFRAME, "-C", tmp_path / "config/settings.py", "-c", ROOT / "checks", "--system", "yours", "-n", names]
    done = subprocess.run([*line, "--dry-run"], env=env, capture_output=True, text=True, timeout=GUARD_S)
    assert done.returncode == 0, done.stdout + done.stderr
    scripts = {path.parent.name.split("_")[0]: path.read_text() for path in tmp_path.rglob("stage/**/rfm_job.sh")}
    assert set(scripts) >= {"OsuLatency", "ImbBarrier", "LammpsBench", "Rotate"}
    for option in ("--nodes=16", "--ntasks=1024", "--ntasks-per-node=64", "--exclusive", "--partition=compute"):
        assert f"#SBATCH {option}\n" in scripts["ImbBarrier"]
    assert "SLURM_MPI_TYPE=pmix" in scripts["Rotate"]
    assert "/apps/osu-micro-benchmarks/7.5/libexec/osu-micro-benchmarks/mpi/pt2pt/osu_latency" in scripts["OsuLatency"]
    assert command == "nomod" or "module load openmpi" in scripts["LammpsBench"]
