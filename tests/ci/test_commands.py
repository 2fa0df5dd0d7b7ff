# SPDX-License-Identifier: BSD-3-Clause
"""The commands on machines that lack something: one line with cause and remedy, and a non-zero status."""

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fabric_checks import stacks
from fabric_checks.twins import smpirun
from tests.conftest import TESTS

ROOT = TESTS.parent
RUN = ROOT / "ci" / "run"
BARE = {"HOME": "/nonexistent", "PATH": "/usr/bin:/bin"}


def run(command, *arguments, **environment):
    env = BARE | {"FABRIC_PYTHON": sys.executable} | environment
    return subprocess.run([command, *arguments], env=env, capture_output=True, text=True, timeout=120)


def one_error(done):
    """Return the only line on standard error."""
    assert done.returncode != 0, done.stdout
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("error: ")
    return lines[0]


@pytest.fixture
def tools(tmp_path):
    """Return a function that makes a PATH with the ordinary tools but those named."""

    def without(*missing):
        folder = tmp_path / "bin"
        folder.mkdir()
        for place in ("/usr/bin", "/bin"):
            for tool in Path(place).iterdir():
                link = folder / tool.name
                # a link that leads nowhere is there all the same, so lexists
                if tool.name not in missing and not os.path.lexists(link):
                    link.symlink_to(tool)
        return str(folder)

    return without


def test_no_compiler(tools, tmp_path):
    line = one_error(run(RUN, PATH=tools("gcc"), FABRIC_HOME=str(tmp_path / "home")))
    assert "no C compiler (gcc)" in line and "apt install gcc" in line


def test_no_make(tools, tmp_path):
    line = one_error(run(RUN, PATH=tools("make"), FABRIC_HOME=str(tmp_path / "home")))
    assert "no make" in line and "apt install make" in line


def test_too_old_a_python(tmp_path):
    old = tmp_path / "python3.8"
    old.write_text("#!/bin/sh\nexit 1\n")  # what the version test of an old Python ends with
    old.chmod(0o755)
    line = one_error(run(RUN, FABRIC_PYTHON=str(old)))
    assert "no Python 3.10 or later" in line and "FABRIC_PYTHON" in line


def test_a_path_with_a_space(tmp_path):
    line = one_error(run(RUN, FABRIC_HOME=str(tmp_path / "my results")))
    assert "FABRIC_HOME is in a path with a space" in line and "move it" in line


def test_a_clone_in_a_path_with_a_space(tmp_path):
    clone = tmp_path / "my clone"
    shutil.copytree(ROOT / "ci", clone / "ci")
    line = one_error(run(clone / "ci" / "run"))
    assert "the clone is in a path with a space" in line


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("in the way")
    line = one_error(run(RUN, FABRIC_HOME=str(tmp_path / "file" / "home")))
    assert "cannot write to" in line and "set FABRIC_HOME to a folder that can be written" in line


def _nobody_can_run_python():
    """Root writes anywhere, so as root the test becomes nobody, who may not reach root's own Python."""
    test = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3", "-c"]
    version = "import sys; sys.exit(sys.version_info < (3, 10))"
    return shutil.which("setpriv") is not None and subprocess.run([*test, version], check=False).returncode == 0


@pytest.mark.skipif(
    os.geteuid() == 0 and not _nobody_can_run_python(),
    reason="as root this needs setpriv and /usr/bin/python3 of 3.10 or later",
)
def test_a_read_only_clone(tmp_path):
    clone = tmp_path / "clone"
    shutil.copytree(ROOT / "ci", clone / "ci")
    for path in (clone, *clone.rglob("*")):
        path.chmod(0o555)
    for path in (tmp_path, *tmp_path.parents):
        if path.name.startswith("pytest-"):  # pytest keeps its folders to their owner
            path.chmod(0o755)
    tmp_path.chmod(0o755)
    as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    python = "/usr/bin/python3" if as_nobody else sys.executable
    env = BARE | {"FABRIC_PYTHON": python}
    done = subprocess.run([*as_nobody, clone / "ci" / "run"], env=env, capture_output=True, text=True, timeout=60)
    line = one_error(done)
    assert "cannot write to" in line and "set FABRIC_HOME" in line


def test_too_little_disk(tmp_path):
    """A file system of a megabyte; without the right to mount one, the free space is told by a stand-in."""
    script = (
        "import runpy, shutil, sys\n"
        "real = shutil.disk_usage\n"
        "shutil.disk_usage = lambda path: real(path)._replace(free=10**6)\n"
        f"sys.argv = ['setup.py']; runpy.run_path({str(ROOT / 'ci/setup.py')!r}, run_name='__main__')\n"
    )
    done = run(sys.executable, "-c", script, FABRIC_HOME=str(tmp_path / "home"))
    line = one_error(done)
    assert re.search(r"too little disk: .* has 1 MB free and \d+ MB are needed", line)


def test_no_network(tmp_path):
    """The package index is at an address where nothing listens."""
    done = run(RUN, FABRIC_HOME=str(tmp_path / "home"), PIP_INDEX_URL="http://127.0.0.1:9/simple", PIP_RETRIES="0")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "the Python package index cannot be reached; check the network, or point pip at a mirror" in line


def test_an_unknown_mpi(tmp_path):
    line = one_error(run(RUN, "--mpi", "lam", FABRIC_HOME=str(tmp_path / "home")))
    assert "unknown MPI 'lam'; choose from mpich, openmpi, impi" in line


def test_an_option_without_its_value():
    assert "--mpi needs a value" in one_error(run(RUN, "--mpi"))


def test_an_unknown_stack(tmp_path):
    line = one_error(run(RUN, "--stack", "conda", FABRIC_HOME=str(tmp_path / "home")))
    assert "unknown stack 'conda'; choose from wheels, spack, modules, simgrid" in line


@pytest.mark.parametrize("option", ["--stack", "--mirror"])
def test_other_options_without_their_value(option):
    assert f"{option} needs a value" in one_error(run(RUN, option))


def test_the_release_of_simgrid_is_that_of_the_library():
    assert runpy.run_path(str(ROOT / "ci/setup.py"))["SIMGRID"] == smpirun.RELEASE


@pytest.mark.parametrize("system", ["twins", "cbc", "feynman:twin"])
def test_simgrid_is_not_in_the_prefix(system, tmp_path):
    home = os.environ.get("FABRIC_HOME", str(ROOT / ".fabric"))
    done = run(RUN, "--system", system, FABRIC_HOME=home, SIMGRID_ROOT=str(tmp_path), PATH=os.environ["PATH"])
    assert f"there is no smpicc in {tmp_path}/bin (SIMGRID_ROOT); let it name a prefix" in one_error(done)


def test_no_simgrid_and_no_root(tmp_path):
    """Root would have it installed, so the right to do so is taken away in a stand-in."""
    home = os.environ.get("FABRIC_HOME", str(ROOT / ".fabric"))
    script = (
        "import os, runpy, shutil, sys\n"
        "os.geteuid = lambda: 1000\n"
        "real = shutil.which\n"
        "shutil.which = lambda name, **rest: None if name == 'smpicc' else real(name, **rest)\n"
        "sys.argv = ['setup.py', '--stack', 'simgrid', '--mpi', 'none']\n"
        f"runpy.run_path({str(ROOT / 'ci/setup.py')!r}, run_name='__main__')\n"
    )
    line = one_error(run(sys.executable, "-c", script, FABRIC_HOME=home))
    assert "install Debian's libsimgrid-dev" in line and f"spack install simgrid@{smpirun.RELEASE}" in line


def a_home_with_all_but_spack(tmp_path):
    """Return a FABRIC_HOME that is set up for the stack that Spack builds, as far as the Spack."""
    home = Path(os.environ.get("FABRIC_HOME", ROOT / ".fabric"))
    place = tmp_path / "home"
    place.mkdir()
    for name in ("venv", "stacks"):
        (place / name).symlink_to(home / name)
    shutil.copytree(home / "stamps", place / "stamps")
    setup = runpy.run_path(str(ROOT / "ci/setup.py"))
    (place / "stamps/clingo").write_text(setup["fingerprint"](setup["PARTS"]["clingo"]))
    (place / "stamps/spack").unlink(missing_ok=True)
    return place


def without_spack(tmp_path, *arguments, **environment):
    home = str(a_home_with_all_but_spack(tmp_path))
    return run(RUN, "--stack", "spack", *arguments, FABRIC_HOME=home, PATH=os.environ["PATH"], **environment)


def test_spack_cannot_be_brought(tmp_path):
    done = without_spack(tmp_path, FABRIC_SPACK_URL=f"file://{tmp_path}/nowhere")
    line = one_error(done)
    assert "release v1.1.0 cannot be cloned from file://" in line and "let FABRIC_SPACK_URL name a mirror" in line


def test_no_git(tmp_path, tools):
    home = str(a_home_with_all_but_spack(tmp_path))
    line = one_error(run(RUN, "--stack", "spack", FABRIC_HOME=home, PATH=tools("git")))
    assert "no git" in line and "SPACK_ROOT" in line


def test_spack_is_brought_once_from_where_it_is_told(tmp_path):
    origin = tmp_path / "origin"
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.invalid", "-C", str(origin)]
    subprocess.run(["git", "init", "--quiet", str(origin)], check=True)
    (origin / "bin").mkdir()
    (origin / "bin/spack").write_text("#!/bin/sh\n")
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "--quiet", "-m", "x"], check=True)
    subprocess.run([*git, "tag", "v1.1.0"], check=True)
    first = without_spack(tmp_path, "-l", FABRIC_SPACK_URL=f"file://{origin}")
    assert first.returncode == 0 and "set-up 1/1: Spack v1.1.0" in first.stdout, first.stdout + first.stderr
    assert (tmp_path / "home/spack/spack/bin/spack").exists()
    again = run(RUN, "--stack", "spack", "-l", FABRIC_HOME=str(tmp_path / "home"), PATH=os.environ["PATH"])
    assert again.returncode == 0 and "set-up" not in again.stdout and "OsuNonBlocking" in again.stdout


def test_a_spack_of_the_users_own_is_not_brought(tmp_path):
    (tmp_path / "mine/bin").mkdir(parents=True)
    (tmp_path / "mine/bin/spack").write_text("#!/bin/sh\n")
    done = without_spack(tmp_path, "-l", SPACK_ROOT=str(tmp_path / "mine"), FABRIC_SPACK_URL="file:///nowhere")
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "home/spack/spack").exists()


def test_the_virtual_environment_can_be_replaced_by_its_own_python(tmp_path):
    """As for whoever has sourced ci/env.sh before the pins change."""
    venv = tmp_path / "home/venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    (venv / "old").touch()
    script = (
        "import runpy\n"
        f"setup = runpy.run_path({str(ROOT / 'ci/setup.py')!r})\n"
        "install = setup['install_core']\n"
        "install.__globals__.update(pip=lambda *_: None, pip_install=lambda *_: None)\n"
        f"install(setup['Home'](setup['Path']({str(tmp_path / 'home')!r})), setup['CORE'])\n"
    )
    done = subprocess.run([venv / "bin/python", "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not (venv / "old").exists()
    subprocess.run([venv / "bin/python", "-c", ""], check=True)


def test_what_an_interrupted_installation_replaces_is_not_complete(tmp_path):
    setup = runpy.run_path(str(ROOT / "ci/setup.py"))
    home = setup["Home"](tmp_path)

    def broken(home, part):
        raise KeyboardInterrupt

    part = setup["Part"]("x", "a part", 0, broken, pin="2")
    home.stamp(part).parent.mkdir()
    home.stamp(part).write_text("1")
    with pytest.raises(KeyboardInterrupt):
        setup["set_up"](home, [part])
    assert not home.stamp(part).exists()


def test_a_mirror_that_is_none(tmp_path):
    assert "there is no folder" in one_error(run(RUN, "--mirror", str(tmp_path / "nowhere")))
    assert "has no wheels; write it with ci/mirror" in one_error(run(RUN, "--mirror", str(tmp_path)))
    for part in ("wheels", "spack.git", "spack-packages.git", "sources"):
        (tmp_path / part).mkdir()
    line = one_error(run(RUN, "--mirror", str(tmp_path), "--stack", "wheels"))
    assert "--mirror serves --stack spack and modules" in line


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "which folder?"),
        (["a", "b"], "one folder, not two: a and b"),
        (["--mpi"], "--mpi needs a value"),
        (["--what", "a"], "unknown option --what"),
    ],
)
def test_mirror_called_wrongly(arguments, message):
    assert message in one_error(run(ROOT / "ci/mirror", *arguments))


def test_help_needs_nothing():
    done = run(ROOT / "ci/mirror", "--help", FABRIC_PYTHON="/nonexistent")
    assert done.returncode == 0 and "usage: ci/mirror" in done.stdout
    done = run(RUN, "--help", FABRIC_PYTHON="/nonexistent")
    assert done.returncode == 0
    assert "usage: ci/run" in done.stdout and "Exit status" in done.stdout


def test_env_makes_the_literal_command_work(tmp_path):
    """From the root, and from elsewhere with the path."""
    script = f'. "{ROOT}/ci/env.sh" && cd / && reframe -c "{ROOT}/checks" -l && cd "{ROOT}" && reframe -c checks -l'
    env = os.environ | {"HOME": str(tmp_path)}
    done = subprocess.run(["bash", "-c", script], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("Found ") == 2
    assert not list(tmp_path.iterdir()), "something was written to HOME"


def test_a_run_that_selects_nothing_fails(tmp_path):
    env = os.environ | {"FABRIC_RESULTS": str(tmp_path)}
    done = subprocess.run([RUN, "-n", "NoSuchCheck"], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "error: no case ran: no check fits what was asked for" in done.stdout


def test_reframe_that_does_not_start_has_the_last_word(tmp_path):
    env = os.environ | {"FABRIC_RESULTS": str(tmp_path)}
    done = subprocess.run([RUN, "--nonsense"], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode != 0
    assert "unrecognized arguments: --nonsense" in done.stderr
    assert "no run called" not in done.stdout + done.stderr


def test_a_wrong_configuration_is_one_line(tmp_path):
    """An unknown MPI in FABRIC_MPI, and two environments of one name, of which ReFrame would take one silently."""
    shutil.copytree(ROOT / "config", tmp_path / "config")
    reframe = [
        Path(sys.executable).with_name("reframe"),
        "-C",
        tmp_path / "config/settings.py",
        "-c",
        ROOT / "checks",
        "-l",
    ]
    env = os.environ | {"FABRIC_RESULTS": str(tmp_path)}
    unknown = subprocess.run(reframe, env=env | {"FABRIC_MPI": "lam"}, capture_output=True, text=True, timeout=60)
    assert unknown.returncode == 1
    assert "failed to load configuration: FABRIC_MPI names 'lam'; choose from" in unknown.stdout + unknown.stderr
    shutil.copy(tmp_path / "config/environments/wheels.py", tmp_path / "config/environments/again.py")
    twice = subprocess.run(reframe, env=env, capture_output=True, text=True, timeout=60)
    assert twice.returncode == 1
    assert "two files define 'mpich'; give one another name" in twice.stdout + twice.stderr
    assert "Traceback" not in twice.stdout + twice.stderr + unknown.stdout + unknown.stderr


def test_two_sessions_at_once_do_not_disturb_each_other(tmp_path):
    env = os.environ | {"FABRIC_RESULTS": str(tmp_path)}
    command = [RUN, "-n", "OsuBarrier|ImbBarrier"]
    both = [
        subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for _ in "ab"
    ]
    outputs = [process.communicate(timeout=300)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    for output in outputs:
        assert "2 cases ran, 2 passed; 2 records." in output


def test_the_set_up_and_the_configuration_know_the_same_mpis():
    sys.path.insert(0, str(ROOT / "ci"))
    try:
        import setup
    finally:
        sys.path.pop(0)
    assert setup.MPIS == stacks.WHEEL_MPIS


def test_an_interrupted_set_up_is_taken_up_again(tmp_path):
    """A part without its stamp is installed again; a part with another pin too."""
    sys.path.insert(0, str(ROOT / "ci"))
    try:
        import setup
    finally:
        sys.path.pop(0)
    home, part = setup.Home(tmp_path), setup.PARTS["mpich"]
    assert not setup.is_complete(home, part)
    home.stamp(part).parent.mkdir()
    home.stamp(part).write_text(setup.fingerprint(part))
    assert setup.is_complete(home, part)
    home.stamp(part).write_text("the hash of other pins")
    assert not setup.is_complete(home, part)


def test_a_hash_that_does_not_fit_is_refused(tmp_path):
    """A wrong pin must not be installed; pip's refusal becomes one line."""
    sys.path.insert(0, str(ROOT / "ci"))
    try:
        import setup
    finally:
        sys.path.pop(0)
    wheel = tmp_path / "thing-1.0-py3-none-any.whl"
    wheel.write_bytes(b"not what was pinned")
    pins = tmp_path / "pins.txt"
    pins.write_text(f"thing==1.0 --hash=sha256:{'0' * 64}\n")
    home = setup.Home(Path(sys.prefix).parent)
    home.log = tmp_path / "log"
    with pytest.raises(setup.SetupError, match="a download differs from its pinned hash"):
        setup.pip(home, "install", "--no-deps", "--no-index", "--find-links", str(tmp_path), "--require-hashes",
                  "--target", str(tmp_path / "t"), "-r", str(pins))  # fmt: skip
