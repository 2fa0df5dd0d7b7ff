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

from fabric_checks.software import installed
from fabric_twins import smpirun
from tests import programs
from tests.conftest import ROOT
from tests.homes import Toy, linked

RUN = ROOT / "ci/run"
BARE = {"HOME": "/nonexistent", "PATH": "/usr/bin:/bin"}


def run(command, *arguments, **environment):
    env = BARE | {"FABRIC_PYTHON": sys.executable} | environment
    return programs.run([command, *arguments], env=env)


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


@pytest.mark.parametrize(
    "name", ["cluster", "mirror", "mutants", "releases", "run", "test"]
)
def test_the_help_of_every_command_states_its_exit_status(name):
    """Those of nightly and vet are helps of verbs, which tests/cli/test_help.py holds to the same."""
    done = run(ROOT / "ci" / name, "--help")
    assert done.returncode == 0 and done.stderr == ""
    assert "exit status" in " ".join(done.stdout.split()).lower()


@pytest.mark.parametrize("tool", ["gcc", "make"])
def test_a_missing_tool_is_named_with_its_package(tools, tmp_path, tool):
    line = one_error(run(RUN, PATH=tools(tool), FABRIC_HOME=str(tmp_path / "home")))
    assert re.match(rf"error: no .*{tool}", line) and f"apt install {tool}" in line


#: Wrong command lines of `ci/run` and `ci/mirror`, and their errors.
MISUSES = [
    (["run", "--mpi", "lam"], "--mpi names 'lam'; choose from mpich, openmpi, impi"),
    (
        ["run", "--stack", "conda"],
        "--stack names 'conda'; choose from wheels, spack, modules, simgrid",
    ),
    *(
        (["run", option], f"{option} needs a value")
        for option in ("--mpi", "--stack", "--mirror", "--prefix")
    ),
    (["run", "--mode", "vet", "--one-job"], "--one-job goes with a run"),
    (["run", "--cost", "--confirm", "1"], "--confirm goes with a run"),
    (["run", "--confirm", "many"], "--confirm is 'many': give how often"),
    (["run", "--confirm=10"], "--confirm is '10': give how often"),
    (["run", "--one-job", "--beside"], "--beside is '': choose within or between"),
    (["run", "--beside=within"], "--continue and --beside go with --one-job"),
    (["run", "--perflogdir=x"], "--perflogdir would hide the values"),
    (
        ["run", "--mirror", "/nonexistent"],
        "there is no folder /nonexistent; ci/mirror writes one",
    ),
    (["mirror"], "no folder is given"),
    (["mirror", "a", "b"], "one folder, not two: a and b"),
    (["mirror", "--mpi"], "--mpi needs a value"),
    (["mirror", "--what", "a"], "unknown option --what"),
]


@pytest.mark.parametrize(
    "words, says",
    MISUSES,
    ids=lambda each: " ".join(each) if isinstance(each, list) else "",
)
def test_a_wrong_option_is_one_error(words, says, tmp_path):
    command, *arguments = words
    done = run(ROOT / "ci" / command, *arguments, FABRIC_HOME=str(tmp_path / "home"))
    assert says in one_error(done) and done.returncode == 2


@pytest.mark.parametrize("version", ["3, 9", "3, 15"])
def test_a_python_that_is_too_old_or_too_new(version, tmp_path):
    other = tmp_path / "python"
    other.write_text(
        f'#!/bin/sh\nexec {sys.executable} -c "import sys; sys.version_info = ({version}); $2"\n'
    )
    other.chmod(0o755)
    line = one_error(run(RUN, FABRIC_PYTHON=str(other)))
    assert line.startswith(f"error: no Python 3.10 to 3.14 (tried: {other})")
    assert "FABRIC_PYTHON" in line


NASTY = ("my clone", "$(touch run)", "`touch run`", "a;touch run", "it's", "a:b")


@pytest.mark.parametrize("name", NASTY)
@pytest.mark.parametrize("variable", ["FABRIC_HOME", "FABRIC_RESULTS"])
def test_a_path_that_cannot_be_in_a_job_script(variable, name, tmp_path):
    variables = {"FABRIC_HOME": str(tmp_path / "home"), variable: str(tmp_path / name)}
    line = one_error(run(RUN, **variables))
    assert f"{variable} is " in line
    assert "paths in job scripts cannot contain " in line
    assert "move it" in line
    assert list(tmp_path.iterdir()) == [], "something was made before it was refused"


@pytest.mark.parametrize("name", NASTY)
def test_a_clone_in_such_a_path(name, tmp_path):
    clone = Toy(tmp_path / name).root
    line = one_error(run(clone / "ci/run"))
    assert "the clone is " in line and "paths in job scripts cannot contain " in line
    assert not (clone / ".fabric").exists()


@pytest.mark.parametrize("command", ["run", "nightly", "test"])
@pytest.mark.parametrize("name", ["../../x", "`touch run`", "a b"])
def test_a_session_that_is_no_name(command, name, tmp_path):
    line = one_error(
        run(
            ROOT / "ci" / command,
            FABRIC_HOME=str(tmp_path / "home"),
            FABRIC_SESSION=name,
        )
    )
    assert f"FABRIC_SESSION is {name!r}, which is not a name" in line
    assert list(tmp_path.iterdir()) == []


def refused(config, folder, variables=None):
    """Return the output of ReFrame alone, which has to refuse a configuration without a traceback."""
    line = [
        Path(sys.executable).with_name("reframe"),
        "-C",
        config / "settings.py",
        "-c",
        ROOT / "checks",
        "-l",
    ]
    env = os.environ | {"FABRIC_RESULTS": str(folder)} | (variables or {})
    done = programs.run(line, env=env, cwd=folder)
    assert done.returncode == 1 and "Traceback" not in done.stdout + done.stderr
    return done.stdout + done.stderr


def test_reframe_by_itself_refuses_them_too(tmp_path):
    """With our configuration and no set-up; ReFrame would expand the command in the path of its log."""
    for variables in (
        {"FABRIC_SESSION": f"`touch {tmp_path}/run`"},
        {"FABRIC_RESULTS": f"{tmp_path}/$(touch {tmp_path}/run)"},
        {"FABRIC_HOME": f"{tmp_path}/a;touch run"},
        {"FABRIC_LAMMPS_INPUTS": f"{tmp_path}/$(touch {tmp_path}/run)"},
        {
            "FABRIC_SIMGRID_IMB": f"{tmp_path}/`touch {tmp_path}/run`@2021.7",
            "RFM_SYSTEM": "cbc",
        },
        {"SIMGRID_ROOT": f"{tmp_path}/a;touch run", "RFM_SYSTEM": "cbc"},
    ):
        assert f"failed to load configuration: {next(iter(variables))} is " in refused(
            ROOT / "config", tmp_path, variables
        )
    assert not (tmp_path / "run").exists()


def test_an_environment_that_does_not_exist(tmp_path):
    """Of a list and of a run; ReFrame would find no case."""
    home = os.environ.get("FABRIC_HOME", str(ROOT / ".fabric"))
    results = {
        "FABRIC_RESULTS": str(tmp_path),
        "FABRIC_HOME": home,
        "PATH": os.environ["PATH"],
    }
    said = (
        "no environment: none that -p 'nosuchenv' matches; choose from mpich, openmpi"
    )
    for option in (["-l"], ["-n", "Streaming"]):
        done = run(RUN, "--mpi", "mpich,openmpi", "-p", "nosuchenv", *option, **results)
        assert one_error(done).endswith(said) and "No case ran" not in done.stdout


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("in the way")
    line = one_error(run(RUN, FABRIC_HOME=str(tmp_path / "file/home")))
    assert "cannot write to" in line
    assert "set FABRIC_HOME to a folder that can be written" in line


def test_a_home_that_can_only_be_read_or_not_even_that(monkeypatch):
    monkeypatch.setenv("FABRIC_HOME", "/proc/none")
    runpy.run_path(str(ROOT / "ci/setup.py"))["set_up"]([])
    one_error(run(ROOT / "ci/bin/fabric-checks", "show", FABRIC_HOME="/" + 300 * "x"))


def set_up(stand_ins, *arguments, **environment):
    """Run ci/setup.py after some lines of Python that stand in for the machine."""
    script = f"{stand_ins}\nimport runpy, sys\nsys.argv = ['setup.py', *sys.argv[1:]]\n"
    script += f"runpy.run_path({str(ROOT / 'ci/setup.py')!r}, run_name='__main__')"
    return run(sys.executable, "-c", script, *arguments, **environment)


def test_too_little_disk(tmp_path):
    """Without the right to mount a small file system, a stand-in reports the free space."""
    stand_ins = (
        "import shutil; real = shutil.disk_usage; shutil.disk_usage = lambda path:"
        " real(path)._replace(free=10**6)"
    )
    line = one_error(set_up(stand_ins, FABRIC_HOME=str(tmp_path / "home")))
    assert re.search(r"too little disk: .* has 1 MB free and \d+ MB are needed", line)


def test_no_network(tmp_path):
    """The package index is at an address where nothing listens."""
    done = run(
        RUN,
        FABRIC_HOME=str(tmp_path / "home"),
        PIP_INDEX_URL="http://127.0.0.1:9/simple",
        PIP_RETRIES="0",
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert (
        "the Python package index cannot be reached; check the network, point pip to a mirror"
        in line
    )
    assert "a folder that ci/mirror filled elsewhere: ci/run --mirror FOLDER" in line


def test_the_releases_of_simgrid_are_those_of_the_library():
    assert runpy.run_path(str(ROOT / "ci/setup.py"))["SIMGRID"] == smpirun.RELEASES


@pytest.mark.parametrize("system", ["twins", "feynman:twin"])
def test_simgrid_is_not_in_the_prefix(system, tmp_path):
    home = os.environ.get("FABRIC_HOME", str(ROOT / ".fabric"))
    done = run(
        RUN,
        "--system",
        system,
        FABRIC_HOME=home,
        SIMGRID_ROOT=str(tmp_path),
        PATH=os.environ["PATH"],
    )
    assert (
        f"there is no smpicc in {tmp_path}/bin (SIMGRID_ROOT); set it to a prefix"
        in one_error(done)
    )


def test_no_simgrid_and_no_root(tmp_path):
    """Root would have it installed, so the right to do so is taken away in a stand-in."""
    home = os.environ.get("FABRIC_HOME", str(ROOT / ".fabric"))
    stand_ins = (
        "import os, shutil; os.geteuid = lambda: 1000; real = shutil.which\n"
        "shutil.which = lambda name, **rest: None if name == 'smpicc' else real(name, **rest)"
    )
    line = one_error(
        set_up(stand_ins, "--stack", "simgrid", "--mpi", "none", FABRIC_HOME=home)
    )
    assert "install Debian's libsimgrid-dev" in line
    assert f"spack install simgrid@{smpirun.RELEASES[0]}" in line


def without_spack(tmp_path, *arguments, **environment):
    home = str(linked(tmp_path / "home", "spack"))
    return run(
        RUN,
        "--stack",
        "spack",
        *arguments,
        FABRIC_HOME=home,
        PATH=os.environ["PATH"],
        **environment,
    )


def test_spack_cannot_be_brought(tmp_path):
    done = without_spack(tmp_path, FABRIC_SPACK_URL=f"file://{tmp_path}/nowhere")
    line = one_error(done)
    assert "release v1.1.0 cannot be cloned from file://" in line
    assert "set FABRIC_SPACK_URL to a mirror" in line


def test_no_git(tmp_path, tools):
    home = str(linked(tmp_path / "home", "spack"))
    line = one_error(run(RUN, "--stack", "spack", FABRIC_HOME=home, PATH=tools("git")))
    assert "git is missing" in line and "SPACK_ROOT" in line


def origin_of(folder, tag=installed.SPACK.tag, message="x"):
    """Make a repository with a release of a Spack, and return the commit."""
    git = [
        "git",
        "-c",
        "user.name=x",
        "-c",
        "user.email=x@example.invalid",
        "-C",
        str(folder),
    ]
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    (folder / "bin").mkdir()
    (folder / "bin/spack").write_text("#!/bin/sh\n")
    for words in (
        ["add", "."],
        ["commit", "--quiet", "-m", message],
        ["tag", "-a", "-m", "x", tag],
    ):
        subprocess.run([*git, *words], check=True)
    return programs.run([*git, "rev-parse", "HEAD"], check=True).stdout.strip()


def test_spack_is_brought_once_from_where_it_is_told(tmp_path):
    clone, home = Toy(tmp_path / "clone"), tmp_path / "home"
    clone.pin_spack(origin_of(tmp_path / "origin"))
    variables = {
        "FABRIC_STACK": "spack",
        "FABRIC_SPACK_URL": f"file://{tmp_path}/origin",
    }
    status, output = clone.run(home, **variables)
    assert status == 0 and "set-up 2/2: Spack v1.1.0" in output, output
    (program,) = home.glob("parts/spack-*/bin/spack")
    status, output = clone.run(
        home, **variables | {"FABRIC_SPACK_URL": "file:///nowhere"}
    )
    assert status == 0
    assert output == ""
    assert (
        str(tmp_path / "origin")
        not in (program.parent.parent / ".git/config").read_text()
    )


def test_a_tag_that_was_moved_is_refused(tmp_path):
    """Spack's own commit is pinned, and this is another."""
    commit = origin_of(tmp_path / "origin")
    line = one_error(
        without_spack(tmp_path, FABRIC_SPACK_URL=f"file://{tmp_path}/origin")
    )
    assert (
        f"release v1.1.0 is {commit} there, but {installed.SPACK.commit} is pinned: the tag was moved"
        in line
    )
    assert not list((tmp_path / "home").glob("parts/spack-*"))


def test_a_moved_tag_in_a_mirror_is_refused(tmp_path):
    """The package repository is cloned by Spack itself, which goes by the tag."""
    for part in ("wheels", "sources"):
        (tmp_path / part).mkdir()
    clone = Toy(tmp_path / "clone")
    clone.pin_spack(origin_of(tmp_path / "spack.git"))
    origin_of(tmp_path / "spack-packages.git", installed.PACKAGES.tag, "another")
    done = run(
        clone.root / "ci/run",
        "--mirror",
        str(tmp_path),
        "-l",
        FABRIC_HOME=str(tmp_path / "home"),
    )
    line = one_error(done)
    assert f"spack-packages.git: release {installed.PACKAGES.tag} is " in line
    assert "the tag was moved" in line
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    "url",
    [
        "https://user:hunter2@127.0.0.1:9/spack.git",
        "https://hunter2@127.0.0.1:9/spack.git",
        "https://127.0.0.1:9/spack.git?private_token=hunter2",
        "https://oauth2:hunter2@nowhere.invalid/a/spack.git",
    ],
)
def test_a_token_goes_to_no_log_and_no_message(url, tmp_path):
    done = without_spack(tmp_path, FABRIC_SPACK_URL=url)
    line = one_error(done)
    assert "cannot be cloned from https://" in line and "***" in line
    log = (tmp_path / "home/setup.log").read_text()
    assert "spack.git" in log
    assert "hunter2" not in line + done.stdout + log


def test_a_spack_of_the_users_own_is_not_brought(tmp_path):
    (tmp_path / "mine/bin").mkdir(parents=True)
    (tmp_path / "mine/bin/spack").write_text("#!/bin/sh\n")
    done = without_spack(
        tmp_path,
        "-l",
        SPACK_ROOT=str(tmp_path / "mine"),
        FABRIC_SPACK_URL="file:///nowhere",
    )
    assert done.returncode == 0, done.stderr
    assert not list((tmp_path / "home").glob("parts/spack-*"))


def test_a_mirror_that_is_not_whole_is_refused(tmp_path):
    assert "has no wheels; write it with ci/mirror" in one_error(
        run(RUN, "--mirror", str(tmp_path))
    )
    for part in ("wheels", "spack.git", "spack-packages.git", "sources"):
        (tmp_path / part).mkdir()
    line = one_error(run(RUN, "--mirror", str(tmp_path), "--stack", "wheels"))
    assert "--mirror serves --stack spack and modules" in line


def test_help_needs_nothing():
    done = run(ROOT / "ci/mirror", "--help", FABRIC_PYTHON="/nonexistent")
    assert done.returncode == 0 and "usage: ci/mirror" in done.stdout
    done = run(RUN, "--help", FABRIC_PYTHON="/nonexistent")
    assert done.returncode == 0
    assert "usage: ci/run" in done.stdout and "Exit status" in done.stdout


def test_env_makes_the_literal_command_work(tmp_path):
    """From the root, and from elsewhere with the path."""
    script = (
        f'. "{ROOT}/ci/env.sh" && cd / && reframe -c "{ROOT}/checks" -l && cd "{ROOT}" && reframe -c'
        " checks -l"
    )
    env = os.environ | {"HOME": str(tmp_path)}
    done = programs.succeed(["bash", "-c", script], env=env)
    assert done.stdout.count("Found ") == 2
    assert not list(tmp_path.iterdir()), "something was written to HOME"


@pytest.mark.parametrize(
    "options, says",
    [
        (["--nonsense"], "unrecognized arguments: --nonsense; see ci/run --help"),
        (
            ["--sytem", "local"],
            "unrecognized arguments: --sytem local; did you mean --system?",
        ),
        (["--mod", "smoke"], "--module-path; did you mean --mode?"),
        (["--mode", "smok"], "there is no mode 'smok'; did you mean smoke?"),
        (["--system", "locl"], "spirit, twins"),
    ],
)
def test_an_option_that_reframe_refuses_is_one_line(options, says, tmp_path):
    env = os.environ | {"FABRIC_RESULTS": str(tmp_path)}
    done = programs.run([RUN, *options], env=env)
    assert one_error(done).endswith(says) and done.stdout == ""
    assert done.returncode == 2


@pytest.mark.parametrize(
    "option",
    ["--dry-run", "-l", "-lC", "--list-tags", "--describe", "--ci-generate", "--cost"],
)
def test_a_list_or_a_cost_of_nothing_is_no_success(option, tmp_path):
    env = os.environ | {"FABRIC_RESULTS": str(tmp_path), "FABRIC_MPI": "mpich"}
    if option == "--ci-generate":
        option += f"={tmp_path / 'pipeline.yml'}"
    done = programs.run([RUN, "-n", "NoSuchCheck", option], env=env)
    assert "error: no check matches the selection" in one_error(done)
    assert done.returncode == 1


def test_one_job_is_refused_where_nothing_allocates_nodes(tmp_path):
    env = os.environ | {"FABRIC_RESULTS": str(tmp_path), "FABRIC_MPI": "mpich"}
    done = programs.run([RUN, "--one-job", "--system", "local", "-n", "Osu"], env=env)
    assert "local:node is run by 'fabric-local', which has no" in one_error(done)
    assert (done.returncode, done.stdout) == (2, "")


VET = re.findall(
    r"^    (ci/run --mode vet .*?)(?: +#.*)?$",
    (ROOT / "docs/vet.md").read_text(),
    re.MULTILINE,
)


@pytest.mark.parametrize(
    "line",
    [
        *VET,
        "ci/run --mode vet --budget=8 --step-minutes 5 --metrics=x --only n1 --json",
    ],
)
def test_the_options_of_a_vet_reach_it(line, tmp_path):
    """Here it ends with its first question, whether jobs can be given their nodes."""
    command, *words = line.replace("--system yours", "").split()
    env = os.environ | {"FABRIC_RESULTS": str(tmp_path), "FABRIC_MPI": "mpich"}
    done = programs.run([ROOT / command, *words, "--system", "local"], env=env)
    assert done.returncode == 1 and "jobs cannot be given their nodes" in done.stderr, (
        done.stderr
    )


def test_a_wrong_configuration_is_one_line(tmp_path):
    """An unknown MPI in FABRIC_MPI, and two environments of one name, of which ReFrame would take one
    silently."""
    config = tmp_path / "config"
    shutil.copytree(ROOT / "config", config)
    said = refused(config, tmp_path, {"FABRIC_MPI": "lam"})
    assert "failed to load configuration: FABRIC_MPI names 'lam'; choose from" in said
    shutil.copy(config / "environments/wheels.py", config / "environments/again.py")
    assert "two files define 'mpich'; give one another name" in refused(
        config, tmp_path
    )


def test_a_hash_that_does_not_fit_is_refused(tmp_path, monkeypatch):
    """A wrong pin must not be installed; pip's refusal becomes one line."""
    setup = runpy.run_path(str(ROOT / "ci/setup.py"))
    wheel = tmp_path / "thing-1.0-py3-none-any.whl"
    wheel.write_bytes(b"not what was pinned")
    pins = tmp_path / "pins.txt"
    pins.write_text(f"thing==1.0 --hash=sha256:{'0' * 64}\n")
    monkeypatch.setenv("FABRIC_HOME", str(tmp_path / "home"))
    with pytest.raises(
        setup["SetupError"], match="a download differs from its pinned hash"
    ):
        setup["pip"](Path(sys.executable), "install", "--no-deps", "--no-index", "--find-links",
                     str(tmp_path), "--require-hashes", "--target", str(tmp_path / "t"),
                     "-r", str(pins))  # fmt: skip


def test_where_results_go_is_for_the_whole_run(tmp_path):
    """The summary finds what ReFrame writes: by its option, or its variable, and not where it would be
    hidden."""
    home = str(linked(tmp_path / "home"))
    told = {
        "option": (["--prefix", "mine"], {}),
        "variable": ([], {"RFM_PREFIX": "mine"}),
    }
    for name, (options, variables) in told.items():
        (tmp_path / name).mkdir()
        env = BARE | {"FABRIC_PYTHON": sys.executable, "FABRIC_HOME": home} | variables
        line = [RUN, *options, "-n", "^OsuBarrier%layout=1x2", "--dry-run"]
        done = programs.run(line, env=env, cwd=tmp_path / name)
        assert done.returncode == 0 and "PASSED" in done.stdout, (
            done.stdout + done.stderr
        )
        assert (tmp_path / name / "mine/logs").is_dir() and list(
            (tmp_path / name / "mine/stage").iterdir()
        )
