# SPDX-License-Identifier: BSD-3-Clause
"""A site's own ReFrame, with our settings or its own: `reframe -C SETTINGS -c CLONE/checks`, from anywhere.

The oldest and the newest ReFrame that are promised, one that misnames metrics, and one too old are in virtual
environments with their dependencies alone; nothing is sourced, and no variable is set. The clone is a fresh
one, whose home links the MPIs of the tests' own.
"""

import os
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from fabric_checks.core.paths import ROOT, home
from fabric_checks.reframe_ext.internals import OLDEST, UNTRIED
from fabric_checks.software import installed
from tests import builders, homes, programs
from tests.checks import job_scripts

#: The requirements by name of the version.
VERSIONS = {"oldest": f"reframe-hpc=={OLDEST}", "newest": f"reframe-hpc<{UNTRIED}"}
TOO_OLD = f"reframe-hpc<{OLDEST}"
#: Messages of pip without a package index.
NO_INDEX = next(
    signs
    for signs, meaning in runpy.run_path(str(ROOT / "ci/setup.py"))["_PIP_CAUSES"]
    if "index cannot be reached" in meaning
)
#: Packages of the library that ReFrame does not depend on.
NOT_THERE = ("numpy", "scipy", "click", "rich", "fabric_checks")
NOBODY = 65534
#: The Python that the tests' own virtual environment was made by: the parts of its home are for it.
BASE = getattr(sys, "_base_executable", sys.executable)


def make(folder, requirement, python=BASE):
    """Make a virtual environment that holds a ReFrame, and return its ``reframe``."""
    # The pip of the tests installs into it: one of its own would take as long as the rest.
    subprocess.run(
        [python, "-m", "venv", "--without-pip", folder], check=True, capture_output=True
    )
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        folder / "bin/python",
        "--disable-pip-version-check",
    ]
    # What is imported is compiled by the first start; most of it never is.
    pip += ["install", "--quiet", "--retries=1", "--no-compile"]
    done = programs.run([*pip, requirement])
    if done.returncode and any(sign in done.stderr for sign in NO_INDEX):
        pytest.skip(
            f"no package index to take {requirement} from: {done.stderr.strip().splitlines()[-1]}"
        )
    assert done.returncode == 0, done.stderr
    assert all(
        not list(folder.glob(f"lib/python3*/site-packages/{name}"))
        for name in NOT_THERE
    )
    return folder / "bin/reframe"


def fresh(folder, with_mpis=True, with_programs=False):
    """Make a clone that nothing was set up in but links to the MPIs.

    :param with_programs: our own programs are there as far as the tests' own home has them; others are built.
    """
    clone = homes.checkout(folder / "clone")
    if with_mpis:
        homes.linked(clone / ".fabric", "core", "test")
    if with_programs and (home() / "programs").is_dir():
        shutil.copytree(home() / "programs", clone / ".fabric/programs")
    return clone


def call(
    reframe,
    clone,
    *options,
    user=None,
    path="/usr/bin:/bin",
    where="/",
    settings=None,
    checks="checks",
    **variables,
):
    """Call a ReFrame as somebody who has nothing set.

    :param checks: the folder in the clone; that of one suite is loaded sooner.
    :param settings: the files of settings; those of the clone by default.
    """
    files = [
        word
        for file in settings or [clone / "config/settings.py"]
        for word in ("-C", file)
    ]
    as_user = (
        ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
        if user
        else []
    )
    env = {"PATH": path, "HOME": tempfile.gettempdir(), "LANG": "C.UTF-8"} | variables
    command = [
        *as_user,
        reframe,
        *(files if settings != [] else []),
        "-c",
        clone / checks,
        "--nocolor",
    ]
    done = programs.run([*command, *options], env=env, cwd=where)
    assert "Traceback" not in done.stdout + done.stderr, done.stdout + done.stderr
    return done


def ran(done):
    """Return how many cases ran, and of how many."""
    ((one, of),) = re.findall(r"Ran (\d+)/(\d+) test case", done.stdout) or [
        (done.stdout, done.stderr)
    ]
    return int(one), int(of)


@pytest.fixture(scope="module", params=VERSIONS)
def reframe(request, tmp_path_factory):
    return make(
        tmp_path_factory.mktemp(request.param) / "venv", VERSIONS[request.param]
    )


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    return fresh(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """Return a clone without MPIs."""
    return fresh(tmp_path_factory.mktemp("bare"), with_mpis=False, with_programs=True)


def listed(reframe, clone, where):
    """Return the names of the checks that a ReFrame lists; it leaves nothing where it is called."""
    done = call(reframe, clone, "-l", where=where)
    assert list(where.iterdir()) == []
    return re.findall(r"^- (\S.*) /\w{8}$", done.stdout, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def own_names(clone, tmp_path_factory):
    """What the ReFrame of the tests lists."""
    return listed(
        Path(sys.executable).with_name("reframe"), clone, tmp_path_factory.mktemp("own")
    )


def test_it_lists_what_ci_run_lists(reframe, clone, own_names, tmp_path):
    names = listed(reframe, clone, tmp_path)
    assert len(names) > 50 and names == own_names


@pytest.mark.parametrize(
    "checks, options",
    [
        ("checks", ("-n^OsuLatency", "-pmpich")),
        ("checks/fabric", ("--system=cbc", "-n^Streaming")),
    ],
)
def test_it_runs_dry(reframe, clone, checks, options):
    one, of = ran(done := call(reframe, clone, *options, "--dry-run", checks=checks))
    assert one == of > 1 and done.returncode == 0, done.stdout


def test_its_job_scripts_are_the_same(reframe, tmp_path, monkeypatch):
    """With the packages of the test environment; its own ReFrame comes first."""
    (packages,) = reframe.parents[1].glob("lib/python3*/site-packages")
    monkeypatch.setenv("PYTHONPATH", f"{packages}:{ROOT}")
    found = job_scripts.dry_run("generic_slurm", tmp_path)
    assert found
    for where, scripts in job_scripts.by_environment(found).items():
        assert (
            job_scripts.as_text(scripts)
            == job_scripts.path_of("generic_slurm", where).read_text()
        )


REFERENCES = """
no_reference: [{why: only one is held to anything here}]
HotSpot:
  $index: [layout]
  1x2: {send_receive_time_to_1_8B: [100000, -0.1, 0.1, us]}
"""


def test_it_names_the_metric_that_misses_its_reference(reframe, clone, tmp_path):
    (tmp_path / "local.yaml").write_text(REFERENCES)
    done = call(
        reframe,
        clone,
        "-n^HotSpot%layout=1x2$",
        "-r",
        RFM_REFERENCE_PREFIX=str(tmp_path),
    )
    assert re.search(r"\[ +FAIL \] .* HotSpot %layout=1x2 ", done.stdout), done.stdout
    missed = re.findall(r"failed to meet reference\(s\): (\w+)=", done.stdout)
    assert missed == ["send_receive_time_to_1_8B"]


def test_one_that_is_too_old_says_so(clone, tmp_path):
    done = call(make(tmp_path / "venv", TOO_OLD), clone, "-l")
    line = rf"this is ReFrame [\d.]+, and {re.escape(OLDEST)} or later is needed"
    assert done.returncode and re.search(line, done.stdout + done.stderr), (
        done.stdout + done.stderr
    )


def test_the_promised_versions_are_the_tested():
    assert (
        f'"reframe-hpc>={OLDEST},<{UNTRIED}"' in (ROOT / "pyproject.toml").read_text()
    )
    for page in ("README.md", "docs/adding-a-system.md", "docs/own-settings.md"):
        assert OLDEST in (ROOT / page).read_text(), page


SITE = """
site_configuration = {{
    "systems": [{{
        "name": "ada", "hostnames": [{host!r}], "modules_system": "nomod", "prefix": {prefix!r},
        "partitions": [
            {{"name": "login", "scheduler": "local", "launcher": "local", "environs": ["builtin"]}},
            {{"name": "compute", "scheduler": "local", "launcher": "mpirun", "environs": ["mpich"],
              "extras": {extras}}},
        ],
    }}],
    "environments": [{{"name": "mpich", "cc": "mpicc", "features": {features}}}],
    "logging": [{{"perflog_multiline": True}}],
}}
"""


@pytest.fixture
def site(tmp_path):
    """Return a function that writes a site's own settings; their environment has the name of one of ours."""

    def write(host=".*", features=("mpi", "mpicc"), extras="{'nodes': 1, 'cores': 2}"):
        file, prefix = tmp_path / "site.py", str(tmp_path / "prefix")
        file.write_text(
            SITE.format(
                host=host, prefix=prefix, features=list(features), extras=extras
            )
        )
        return file

    return write


@pytest.mark.parametrize("order", ["alone", "last"])
def test_it_measures_with_a_sites_own_settings(reframe, bare, site, tmp_path, order):
    ours = bare / "config/settings.py"
    settings = {"alone": [site()], "last": [ours, site()]}[order]
    options = ("-R", "-r", "-n^HotSpot%layout=1x2$")
    path = f"{installed.folder('mpich')}/bin:/usr/bin:/bin"
    done = call(reframe, bare, *options, path=path, settings=settings, where=tmp_path)
    assert ran(done) == (2, 2)
    assert "HotSpot %layout=1x2" in done.stdout
    assert "@ada:compute+mpich" in done.stdout
    records = builders.records_in(
        tmp_path / "prefix/perflogs/ada/compute/HotSpot.jsonl"
    )
    why = f"there is no {bare}/config/references/ada.yaml"
    before, _, _ = done.stdout.partition("Running 2 check(s)")
    assert before.count(f"WARNING: no references: {why}") == 1, done.stdout
    assert len(records) == 12 and all(why in each["no_reference"] for each in records)
    assert not (tmp_path / "stage").exists()


@pytest.mark.parametrize(
    "given, options, line",
    [
        ({"features": ()}, ["-R"],
         "the system ada has no environment with an MPI for the checks: give one of builtin"),
        ({"extras": "{}"}, ["-R"],
         "ada:compute: the number of cores is unknown; give the partition 'processor' or"),
        ({}, [], "the checks are in the folders of {clone}/checks: add -R, or `check_search_recursive`"),
        ({"host": "nosuch"}, ["-R"], "no system of {site} matches this host: choose one with --system NAME"),
        (None, ["-R"], "ReFrame has its built-in settings only: name yours with -C, or add -C {clone}"),
    ],
)  # fmt: skip
def test_what_a_sites_settings_lack_is_one_line(
    reframe, bare, site, given, options, line
):
    settings = [] if given is None else [site(**given)]
    done = call(reframe, bare, *options, "-l", settings=settings)
    (said,) = done.stderr.splitlines()
    assert done.returncode == 1 and said.startswith(
        f"error: {line.format(clone=bare, site=settings and settings[0])}"
    )


def test_local_does_not_replace_a_sites_system_that_does_not_match(reframe, bare, site):
    ours = bare / "config/settings.py"
    for settings in ([site(host="nosuch"), ours], [ours, site(host="nosuch")]):
        done = call(reframe, bare, "-l", settings=settings)
        assert done.returncode == 1 and "matches this host" in done.stderr, done.stdout


def test_relative_names_are_those_of_where_it_was_called(reframe, bare, site, tmp_path):
    ours = os.path.relpath(bare / "config/settings.py", tmp_path)
    for number, settings in enumerate(([site().name, ours], [ours, site().name])):
        options = (
            "--system",
            "ada",
            "--prefix",
            f"mine{number}",
            "--dry-run",
            "-n^HotSpot%layout=1x2$",
        )
        done = call(reframe, bare, *options, settings=settings, where=tmp_path)
        assert ran(done) == (2, 2) and "@ada:compute+mpich" in done.stdout, done.stdout
        assert (tmp_path / f"mine{number}/logs").is_dir()


def test_a_check_without_its_packages_fails_by_name_and_the_others_run(
    reframe, clone, tmp_path
):
    names = (
        "-n^OsuBarrier%layout=1x2$",
        "-n^HotSpot%layout=1x2$",
        "-n^Rotate%pattern=rotate%layout=1x2$",
    )
    done = call(reframe, clone, *names, "-r", "--perflogdir", tmp_path / "own")
    assert len(re.findall(r"\[ +OK \] .* (OsuBarrier|HotSpot) ", done.stdout)) == 2, (
        done.stdout
    )
    assert re.search(r"\[ +FAIL \] .* Rotate ", done.stdout), done.stdout
    (line,) = re.findall(r"Reason: environ error: (.*)", done.stdout)
    (missing,) = re.findall(
        r"^missing Python packages: (numpy scipy): Rotate needs them to separate", line
    )
    install = rf" {reframe.parent}/python[0-9.]* -m pip install {missing} "
    assert re.search(install, line)
    assert (tmp_path / "own/local/node/HotSpot.jsonl").stat().st_size > 0
    assert list((clone / ".fabric/results/reports").iterdir())
    # What that line would bring, without the network.
    there = Path(pytest.__file__).parent.parent
    prefix = f"--prefix={tmp_path / 'prefix'}"
    done = call(reframe, clone, names[-1], "-r", prefix, PYTHONPATH=str(there))
    assert ran(done) == (2, 2) and done.returncode == 0, done.stdout
    assert (tmp_path / "prefix/perflogs/local/node/Rotate.jsonl").stat().st_size > 0


def test_where_nothing_is_set_up(reframe, bare):
    """It says how to set up; and takes the MPI that is at hand, if there is one."""
    done = call(reframe, bare, "-n^OsuBarrier%layout=1x2$", "-r")
    assert (
        f"mpich of the wheels is not set up in {bare}/.fabric; to do so: {bare}/ci/run --mpi mpich -l"
        in done.stdout
    )
    path = f"{installed.folder('mpich')}/bin:/usr/bin:/bin"
    done = call(reframe, bare, "-n^HotSpot%layout=1x2$", "-r", path=path)
    assert re.search(r"\[ +OK \] .* HotSpot .*@local:node\+on-path", done.stdout), (
        done.stdout
    )


@pytest.mark.parametrize("version", ["3.10", "3.14"])
def test_any_python_that_it_runs_on(version, clone, tmp_path):
    if sys.version.startswith(f"{version}."):
        pytest.skip(f"the other tests run on Python {version}")
    on_path = shutil.which(f"python{version}")
    # That of pyenv is a script that may stand for none; its Pythons are in `versions`.
    of_pyenv = (
        Path(on_path).parent.parent.glob(f"versions/{version}.*/bin/python{version}")
        if on_path
        else ()
    )
    found = [each for each in (on_path, *of_pyenv) if each]
    works = [
        each
        for each in found
        if subprocess.run([each, "-c", "import venv, ensurepip"]).returncode == 0
    ]
    if not works:
        pytest.skip(f"no Python {version} with venv here")
    reframe = make(tmp_path / "venv", VERSIONS["newest"], works[0])
    one, of = ran(done := call(reframe, clone, "-n^Osu.*%layout=1x2", "--dry-run"))
    shutil.rmtree(tmp_path / "venv")
    assert one == of > 5, done.stdout


@pytest.fixture(scope="module")
def shared():
    """A clone and a ReFrame of root's, which another user can read and not write."""
    if os.geteuid() != 0:
        pytest.skip("a second user needs root")
    folder = Path(tempfile.mkdtemp(prefix="fabric-checks-users-"))
    folder.chmod(0o755)
    may = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]

    def can(*command):
        return (
            programs.run([*may, *command], env={"PATH": "/usr/bin:/bin"}).returncode
            == 0
        )

    pythons = [BASE, "/usr/bin/python3"]
    works = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))"
    python = next((each for each in pythons if can(each, "-c", works)), None)
    try:
        if not can("test", "-r", "/"):
            pytest.skip("setpriv cannot become another user here")
        if python is None:
            pytest.skip(f"none of {', '.join(pythons)} can be run by another user")
        reframe = make(folder / "venv", VERSIONS["newest"], python)
        yield reframe, fresh(folder, with_mpis=False, with_programs=True), can
    finally:
        shutil.rmtree(folder)


def test_two_users_on_one_clone_and_a_reframe_that_nobody_may_write(shared):
    reframe, clone, can = shared
    mpi = installed.folder("mpich")
    options = ("-n^OsuBarrier%layout=1x2$", "-n^HotSpot%layout=1x2$")
    path = f"{mpi}/bin:/usr/bin:/bin"
    assert not can("test", "-w", str(reframe.parent)) and not can(
        "test", "-w", str(clone)
    )
    if not can("test", "-x", f"{mpi}/bin/mpicc"):
        pytest.skip(f"another user cannot reach {mpi}")
    assert call(reframe, clone, *options, "-r", path=path).returncode == 0
    assert "HotSpot" in call(reframe, clone, "-l", path=path, user=NOBODY).stdout
    with tempfile.TemporaryDirectory() as own:
        os.chown(own, NOBODY, NOBODY)
        theirs = {"path": path, "user": NOBODY, "HOME": own}
        refused = call(reframe, clone, *options, "-r", **theirs)
        line = (
            f"results cannot be written to {clone}/.fabric/results (Permission denied)"
        )
        assert line in refused.stdout + refused.stderr and refused.returncode
        done = call(reframe, clone, *options, "-r", f"--prefix={own}", **theirs)
        assert done.returncode == 0 and ran(done) == (2, 2), done.stdout
        rotate = call(
            reframe,
            clone,
            "-n^Rotate%pattern=rotate%layout=1x2$",
            "-r",
            f"--prefix={own}",
            **theirs,
        )
        assert "missing Python packages: numpy scipy: Rotate" in rotate.stdout
        record, *_ = (
            (Path(own) / "perflogs/local/node/HotSpot.jsonl").read_text().splitlines()
        )
        commit = programs.run(
            ["git", "-C", ROOT, "rev-parse", "--short=12", "HEAD"]
        ).stdout.strip()
        assert f"+g{commit}" in record
    again = call(reframe, clone, *options, "-r", path=path)
    assert again.returncode == 0, again.stdout
