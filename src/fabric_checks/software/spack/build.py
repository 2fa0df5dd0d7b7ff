# SPDX-License-Identifier: BSD-3-Clause
"""Build one package by Spack, hold it to what was asked for, and build nothing twice.

What was built is remembered below FABRIC_HOME by the hash of everything that decides it: the environment, the
configuration and the recipes that Spack itself finds for it, Spack, the compilers and the processor. As long as that is
the same and every file is still there, the finished environment is copied, and Spack is asked for no more than that.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from fabric_checks.core import console, files, locks
from fabric_checks.core.paths import home
from fabric_checks.software.spack import lock
from fabric_checks.software.spack.credentials import without_user
from fabric_checks.software.spack.errors import SpackError
from fabric_checks.software.spack.fingerprint import fingerprint
from fabric_checks.software.spack.packages import Asked, asked
from fabric_checks.software.spack.scopes import Scopes
from fabric_checks.software.spack.tool import Installed, Known, Spack, scope_defaults
from fabric_checks.software.suite import Package

BUILT = "built.json"
LOCK = "spack.lock"
CONCRETIZE_LOG = "concretize.txt"
INSTALL_LOG = "install.txt"
VIEWS = Path(".spack-env/._view")
VIEW = Path(".spack-env/view")
INSTALLING = re.compile(r"==> Installing (\S+-\w{32})\b")
PHASE = re.compile(r"==> \S+: (?:Executing phase|Successfully installed)|==> (?:Extracting|Fetching) ")


@dataclass(frozen=True)
class Built:
    """What came out.

    :param package: its name; :param version: its release; :param hash: Spack's, all 32 characters.
    :param spec: the concretized spec, with compiler, MPI and target.
    :param spack: what ``spack --version`` said.
    :param mpi: the MPI of the spec, such as ``mpich@5.0.2``.
    :param prefix: where it is installed.
    :param unverified: the packages that a build cache gave without a check of their signatures.
    :param rebuilt: whether Spack was called now, and did not just confirm what is remembered.
    :param seconds: how long each step took now.
    """

    package: str
    version: str
    hash: str
    spec: str
    spack: str
    mpi: str
    prefix: str
    unverified: list[str]
    rebuilt: bool
    seconds: dict[str, float]


def build(
    package: Package,
    scopes: Scopes,
    folder: Path,
    variables: Mapping[str, str],
    say: Callable[[str], object] = console.print,
) -> Built:
    """Build a package in a copy of its environment; return what was built, which is in ``built.json`` there too.

    :param scopes: those of the MPI, the site and the collection, as they are in the clone.
    :param folder: becomes the environment's folder; its programs are below ``folder/.spack-env/view``.
    :param variables: usually ``os.environ``.
    :param say: is called with what happens, a line at a time.
    :raises SpackError: with cause and remedy; what was built before stays.
    """
    environment = Environment.prepared(package, scopes, folder, variables)
    finished = environment.take_over()
    if finished:
        say(f"nothing has changed since it was built: {finished.spec}")
        return finished
    times = Times()
    concrete = environment.concretize(say)
    times.note("concretize")
    say(f"building {concrete}; to follow it: tail -f {folder / INSTALL_LOG}")
    found = environment.install(say)
    times.note("install")
    environment.require_files()
    built = Built(
        package=package.name,
        version=concrete.package.version,
        hash=concrete.package.hash,
        spec=str(concrete),
        spack=environment.known.release,
        mpi=str(concrete.mpi),
        prefix=concrete.package.prefix or next(each.prefix for each in found if each.hash == concrete.package.hash),
        unverified=environment.unverified(found),
        rebuilt=True,
        seconds=times.steps,
    )
    environment.remember(built)
    for name in built.unverified:
        say(f"{name} is from a build cache; its signature was not checked")
    say(f"built {built.spec} in {sum(times.steps.values()):.0f} s")
    return built


def concretized(
    package: Package,
    scopes: Scopes,
    folder: Path,
    variables: Mapping[str, str],
    say: Callable[[str], object] = console.print,
) -> Environment:
    """Return a copy of a package's environment with its lock, nothing built; the parameters are those of `build`.

    :raises SpackError: as `build` does.
    """
    environment = Environment.prepared(package, scopes, folder, variables)
    environment.concretize(say)
    return environment


class Times:
    """A stopwatch: how long the steps took, one after the other."""

    def __init__(self) -> None:
        self.steps: dict[str, float] = {}
        self._last = time.monotonic()

    def note(self, step: str) -> None:
        """End a step."""
        now = time.monotonic()
        self.steps[step] = round(now - self._last, 2)
        self._last = now


@dataclass(frozen=True)
class Environment:
    """A copy of a package's environment, and what is remembered of the last time it was the same.

    :param known: what Spack knows of it; :param memory: the folder below FABRIC_HOME that belongs to this very input.
    """

    package: Package
    folder: Path
    asked: Asked
    spack: Spack
    known: Known
    memory: Path

    @classmethod
    def prepared(cls, package: Package, scopes: Scopes, folder: Path, variables: Mapping[str, str]) -> Environment:
        """Copy ``spack.yaml``, render the scopes beside it, and hash it all before Spack writes into the copy.

        :raises SpackError: if Spack is missing, or a scope is missing or wrong.
        """
        wanted = asked(package, scopes)
        folder.mkdir(parents=True, exist_ok=True)
        for stale in (LOCK, BUILT, CONCRETIZE_LOG, INSTALL_LOG):
            (folder / stale).unlink(missing_ok=True)
        shutil.copy(package.environment / "spack.yaml", folder / "spack.yaml")
        told = scope_defaults() | dict(variables)
        told["FABRIC_SPACK_PACKAGES_URL"] = without_user(told["FABRIC_SPACK_PACKAGES_URL"])
        rendered = scopes.rendered(folder / "scopes", told)
        spack = Spack.found(dict(variables) | rendered.variables())
        known = spack.known(folder)
        key = fingerprint(
            [
                (folder / "spack.yaml").read_bytes(),
                *known.parts(),
                *(text.encode() for text in (*spack.identity(), *spack.machine())),
            ]
        )
        return cls(package, folder, wanted, spack, known, home() / "spack" / "builds" / f"{package.name}-{key[:32]}")

    def take_over(self) -> Built | None:
        """Copy the environment that was finished before, if there is one and all of it still stands."""
        if not self.memory.is_dir():
            return None
        with locks.exclusive(self.memory / ".lock", locks.WRITER_WAIT_S):
            return self._take_over()

    def _take_over(self) -> Built | None:
        try:
            built = Built(**json.loads((self.memory / BUILT).read_text()))
            text = (self.memory / LOCK).read_text()
            self._require(self.memory / LOCK)
        except (OSError, ValueError, TypeError, SpackError):
            return None  # never finished, or damaged: Spack finds out what is there
        start = time.monotonic()
        views = list((self.memory / VIEWS).glob("*"))
        if len(views) != 1 or not _is_whole(views[0]) or not _is_as_installed(Path(built.prefix)):
            return None
        shutil.rmtree(self.folder / ".spack-env", ignore_errors=True)
        shutil.copytree(views[0], self.folder / VIEWS / views[0].name, symlinks=True)
        (self.folder / VIEW).symlink_to((self.folder / VIEWS / views[0].name).absolute())
        (self.folder / LOCK).write_text(text)
        try:
            self.require_files()
        except SpackError:
            return None
        now = replace(built, rebuilt=False, seconds={"take_over": round(time.monotonic() - start, 2)})
        (self.folder / BUILT).write_text(json.dumps(asdict(now), indent=1) + "\n")
        return now

    def concretize(self, say: Callable[[str], object]) -> lock.Concrete:
        """Write ``spack.lock``, or take the one that came of the same input.

        :raises SpackError: if it cannot be concretized, or not to what was asked for.
        """
        kept = self.memory / "concretized.lock"
        if kept.is_file():
            try:
                concrete = self._require(kept)
            except SpackError:
                kept.unlink()  # damaged: what Spack writes anew is held to the same
            else:
                shutil.copy(kept, self.folder / LOCK)
                return concrete
        say(f"concretizing {self.package.name}: a minute or two")
        self.spack.run("concretize", environment=self.folder, log=self.folder / CONCRETIZE_LOG)
        concrete = self._require(self.folder / LOCK)
        self.memory.mkdir(parents=True, exist_ok=True)
        files.write_text(kept, (self.folder / LOCK).read_text(encoding="utf-8"))
        return concrete

    def install(self, say: Callable[[str], object]) -> list[Installed]:
        """Install what the lock says; what is installed and damaged, which Spack takes for whole, once more.

        :return: what stands of the package and of what it needs at run time.
        :raises SpackError: if it cannot be installed.
        """
        self._install(say)
        found = self.spack.installed(self.folder)
        damaged = [each for each in found if each.lost]
        if not damaged:
            return found
        for each in damaged:
            say(f"{each.name} is damaged, {_lost(each)}: installing it again")
            self._install(say, "--overwrite", "--yes-to-all", f"/{each.hash}")
        found = self.spack.installed(self.folder)
        for each in found:
            if each.lost:
                raise SpackError(
                    f"Spack: a prefix is damaged ({each.name}), {_lost(each)}, even after a reinstallation\n"
                    f"To do: remove {each.prefix}, and find out who writes there"
                )
        return found

    def _install(self, say: Callable[[str], object], *options: str) -> None:
        self.spack.run(
            *("install", "-j", str(len(os.sched_getaffinity(0))), *options),
            environment=self.folder,
            log=self.folder / INSTALL_LOG,
            watch=lambda line: _progress(line, self.known.stage, say),
        )

    def unverified(self, found: list[Installed]) -> list[str]:
        """Return the packages that a build cache gave without a check of their signatures."""
        if not (self.spack.mirror or self.known.unsigned):
            return []
        return [each.name for each in found if each.cached]

    def _require(self, path: Path) -> lock.Concrete:
        """Hold a lock to what was asked for."""
        return lock.require(
            lock.read_lock(path),
            package=self.package.name,
            version=self.asked.version,
            mpi=self.asked.mpi,
            compiler=self.asked.compiler,
        )

    def require_files(self) -> None:
        """Look for every file: some recipes install what could be built, and succeed.

        :raises SpackError: that names what is missing.
        """
        missing = [
            name for name in self.package.files(self.asked.requirement) if not (self.folder / VIEW / name).exists()
        ]
        if missing:
            raise SpackError(
                f"Spack: {self.package.name} was installed without {', '.join(missing)}\n"
                "To do: see its build log (`spack location -i` and `.spack/` below it) to learn what could not be "
                "built, or require less of it in the site's scope"
            )

    def remember(self, built: Built) -> None:
        """Keep the finished environment, what was built last: a session that is killed leaves nothing half kept."""
        text = json.dumps(asdict(built), indent=1) + "\n"
        (self.folder / BUILT).write_text(text)
        self.memory.mkdir(parents=True, exist_ok=True)
        view = (self.folder / VIEW).resolve()
        with locks.exclusive(self.memory / ".lock", locks.WRITER_WAIT_S):
            (self.memory / BUILT).unlink(missing_ok=True)
            shutil.rmtree(self.memory / VIEWS, ignore_errors=True)
            shutil.copytree(view, self.memory / VIEWS / view.name, symlinks=True)
            shutil.copy(self.folder / LOCK, self.memory / LOCK)
            files.write_text(self.memory / BUILT, text)


def _lost(damaged: Installed) -> str:
    """Return what is lost of a package, in words: one file of it."""
    more = f" and {len(damaged.lost) - 1} more" if len(damaged.lost) > 1 else ""
    return f"{damaged.lost[0]}{more} differs from what was installed"


def _progress(line: str, stage: Path, say: Callable[[str], object]) -> None:
    """Say a line of Spack's that tells how far it is, and where the compiler's words go."""
    installing = INSTALLING.match(line)
    if installing:
        say(f"{installing[1]}: its log is {stage}/spack-stage-{installing[1]}/spack-build-out.txt")
    elif PHASE.match(line):
        say(line.removeprefix("==> "))


def _is_whole(view: Path) -> bool:
    """Tell whether everything that a view links to is still installed."""
    return all(path.exists() for path in view.rglob("*"))


def _is_as_installed(prefix: Path) -> bool:
    """Tell whether the files of a package are as long as they were; Spack compares them in full where they are not."""
    try:
        manifest = json.loads((prefix / ".spack" / "install_manifest.json").read_text())
        return all(Path(file).lstat().st_size == entry["size"] for file, entry in manifest.items() if "size" in entry)
    except (OSError, ValueError, AttributeError, TypeError):
        return False
