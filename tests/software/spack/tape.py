# SPDX-License-Identifier: BSD-3-Clause
"""What the stand-in for Spack plays: real transcripts, and a package that is "installed" as scripts."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass

from fabric_checks.software.spack.packages import PACKAGES
from fabric_checks.software.spack.version import PINNED_PACKAGES, PINNED_PACKAGES_COMMIT
from tests.conftest import GOLDEN, TESTS

TRANSCRIPTS = GOLDEN / "spack"
LOCAL = TESTS.parent / "config" / "systems" / "local" / "spack"

#: The releases that the transcripts are of.
SITE = """packages:
  osu-micro-benchmarks: {require: "@7.3"}
  lammps: {require: "@20220623.4 ~lib+mpi+molecule+kspace+manybody+rigid+granular fft=kiss"}
"""

INIT = "libexec/osu-micro-benchmarks/mpi/startup/osu_init"


class Tape:
    """A folder to play from, a site scope, a package repository, and the variables to run with.

    :param home: what FABRIC_HOME is; a folder of its own if it is not given.
    """

    def __init__(self, folder, home=None):
        self.folder = folder
        self.home = home or folder / "home"
        self.played = folder / "tape"
        self.calls_file = folder / "calls"
        self.site = folder / "site"
        self.prefix = folder / "prefix"
        for place in (self.played, self.site):
            place.mkdir(parents=True)
        self.home.mkdir(exist_ok=True)
        (self.site / "packages.yaml").write_text(SITE)
        self.root = folder / "spack"
        for place in ("bin", "lib/spack/spack"):
            (self.root / place).mkdir(parents=True)
        shutil.copy(TESTS / "software/spack/spack", self.root / "bin/spack")
        (self.root / "lib/spack/spack/__init__.py").write_text('__version__ = "1.1.0"\n')
        self.repository = folder / "spack-packages"
        (self.repository / "packages/zlib").mkdir(parents=True)
        (self.repository / "packages/zlib/package.py").write_text("class Zlib: ...\n")
        self.git("init", "--quiet")
        self.pin()
        self.write("repositories", f"builtin {self.repository}\n")

    @property
    def variables(self):
        """The environment variables of a run: the stand-in is on PATH, and nothing of the real one is known."""
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith(("SPACK", "FABRIC_SPACK"))
        }
        return inherited | {
            "PATH": f"{self.root}/bin:{os.environ['PATH']}",
            "SPACK_PLAYBACK": str(self.played),
            "SPACK_CALLS": str(self.calls_file),
            "FABRIC_HOME": str(self.home),
            "FABRIC_SPACK_SITE": str(self.site),
        }

    @property
    def calls(self):
        """What the stand-in was called for so far: the first word of each call that is no option."""
        lines = self.calls_file.read_text().splitlines() if self.calls_file.exists() else []
        known = ("decides", "installed", "concretize", "install", "--version", "mirror", "buildcache")
        return [next(word for word in known if word in line.split()) for line in lines]

    def forget_calls(self):
        self.calls_file.unlink(missing_ok=True)

    def write(self, name, text):
        (self.played / name).write_text(text)

    def commit(self, tag):
        """Make the package repository another one, at a release."""
        for command in (["add", "."], ["commit", "--quiet", "--allow-empty", "-m", tag], ["tag", "--force", tag]):
            self.git(*command)

    def pin(self):
        """Let the commit have the name of the pinned one; Git is told to read that as the one that is there."""
        self.commit(PINNED_PACKAGES)
        self.git("update-ref", f"refs/replace/{PINNED_PACKAGES_COMMIT}", self.git("rev-parse", "HEAD"))
        (self.repository / ".git/HEAD").write_text(f"{PINNED_PACKAGES_COMMIT}\n")
        self.git("tag", "--force", PINNED_PACKAGES, PINNED_PACKAGES_COMMIT)

    def git(self, *arguments):
        """Call Git in the package repository; return what it prints."""
        git = ["git", "-C", str(self.repository), "-c", "user.name=x", "-c", "user.email=x@example.invalid"]
        return subprocess.run([*git, *arguments], check=True, capture_output=True, text=True).stdout.strip()

    def succeed(self, package="osu-micro-benchmarks", mpi="mpich"):
        """Play a build that succeeds: its real transcripts and lock, and programs that print golden outputs."""
        for word in ("concretize", "install"):
            self.write(f"{word}.txt", (TRANSCRIPTS / f"{word}.{package}.{mpi}.txt").read_text())
        self.write("concretize.lock", (TRANSCRIPTS / f"{package}.{mpi}.lock.json").read_text())
        names = [*PACKAGES[package].files("@3.4.3 names:=is"), "libexec/osu-micro-benchmarks/mpi/pt2pt/osu_multi_lat"]
        program = TESTS / "software/spack/program"
        entries = {f"{self.prefix}/{name}": {"size": program.stat().st_size} for name in names}
        self.write("manifest.json", json.dumps(entries))
        # As the real one does, it takes what was installed once for installed, whatever became of it.
        self.write(
            "install.sh",
            f"""set -e
if [ ! -e {self.folder}/database ] || [ -n "$OVERWRITE" ]; then
    for file in {" ".join(names)}; do
        mkdir -p "$(dirname {self.prefix}/$file)"
        cp {program} {self.prefix}/$file
    done
    mkdir -p {self.prefix}/.spack
    cp {self.played}/manifest.json {self.prefix}/.spack/install_manifest.json
    touch {self.folder}/database
fi
for file in {" ".join(names)}; do
    mkdir -p "$(dirname "$1/.spack-env/._view/abc/$file")"
    [ ! -e {self.prefix}/$file ] || ln -sf {self.prefix}/$file "$1/.spack-env/._view/abc/$file"
done
ln -sfn "$1/.spack-env/._view/abc" "$1/.spack-env/view"
""",
        )
        self.write(
            "installed.sh",
            f"""lost=
hash=$(sed 's/.*"roots": *\\[{{"hash": *"\\([a-z0-9]*\\)".*/\\1/' "$1/spack.lock")
for file in {" ".join(names)}; do
    cmp -s {program} {self.prefix}/$file || lost="$lost, \\"{self.prefix}/$file\\""
done
cached=$([ -e {self.prefix}/.spack/binary_distribution ] && echo true || echo false)
printf '[{{"name": "{package}", "hash": "%s", "prefix": "{self.prefix}", ' "$hash"
printf '"lost": [%s], "cached": %s}}]\\n' "${{lost#, }}" "$cached"
""",
        )

    def fail(self, word, transcript, status):
        """Play a failure: from its real transcript, or a text."""
        path = TRANSCRIPTS / f"{transcript}.txt"
        self.write(f"{word}.txt", path.read_text() if path.exists() else transcript)
        if status < 0:
            self.write(f"{word}.sh", f"kill {status} $PPID\n")
        else:
            self.write(f"{word}.status", f"{status}\n")


def cache(tape):
    """Let the package come from a build cache."""
    good = (tape.played / "install.sh").read_text()
    tape.write("install.sh", f"{good}touch {tape.prefix}/.spack/binary_distribution\n")


def log_of_the_build(tape):
    """Put the build log that a transcript names where the test can write."""
    log = tape.folder / "spack-build-out.txt"
    log.write_text((TRANSCRIPTS / "install.build-error.log").read_text())
    lines = (tape.played / "install.txt").read_text().splitlines()
    lines = [f"  {log}" if line.strip().endswith("spack-build-out.txt") else line for line in lines]
    tape.write("install.txt", "\n".join(lines) + "\n")


@dataclass(frozen=True)
class Failure:
    """A way in which a build fails.

    :param name: of the scenario; :param says: words that the message has, the cause first and the remedy last.
    :param word: of the call that fails; :param transcript: what is played; :param status: its exit status.
    :param also: what else is changed, given the tape.
    """

    name: str
    says: tuple
    word: str = ""
    transcript: str = ""
    status: int = 1
    also: object = None


def _site(text):
    return lambda tape: (tape.site / "more.yaml").write_text(text)


def _without_ft(tape):
    """Install everything but one program, and succeed, as the recipe of NPB does."""
    script = (tape.played / "install.sh").read_text()
    tape.write("install.sh", script.replace(INIT, ""))
    tape.write("installed.sh", (tape.played / "installed.sh").read_text().replace(INIT, ""))


def _edit(name):
    def edited(tape):
        (tape.repository / name).parent.mkdir(exist_ok=True)
        (tape.repository / name).write_text("class Zlib: version = 2\n")

    return edited


def _lock(name):
    return lambda tape: tape.write("concretize.lock", (TRANSCRIPTS / f"{name}.lock.json").read_text())


FAILURES = [
    Failure(
        "concretizer error",
        ("cannot be concretized", "mpich", "check what the scopes require"),
        "concretize",
        "concretize.unsatisfiable",
    ),
    Failure("unknown release", ("another release", "99.9", "check out"), "concretize", "concretize.no-version"),
    Failure("unknown package", ("another release", "To do"), "concretize", "concretize.unknown-package"),
    Failure("no compiler", ("a compiler is missing", "install it"), "concretize", "concretize.no-compiler"),
    Failure("no Fortran", ("a compiler is missing", "To do"), "concretize", "concretize.no-fortran"),
    Failure("no repository", ("no package repository", "spack-packages"), "decides", "concretize.no-repository"),
    Failure("broken scope", ("a scope is wrong", "correct the file"), "decides", "concretize.bad-yaml"),
    Failure("no scope", ("a scope is missing", "create that folder"), "decides", "concretize.no-scope", 3),
    Failure("no clingo", ("cannot load clingo", "SPACK_PYTHON"), "concretize", "concretize.no-clingo"),
    Failure("checksum mismatch", ("checksum mismatch", "delete it"), "install", "install.checksum"),
    Failure("no source", ("no source can be fetched", "mirror"), "install", "install.no-source"),
    Failure(
        "build failure",
        ("the build failed", "error:", "spack-build-out.txt", "see the log"),
        "install",
        "install.build-error",
        also=log_of_the_build,
    ),
    Failure("full stage", ("the disk is full", "free space"), "install", "install.disk-full-stage"),
    Failure("full install tree", ("the disk is full", "free space"), "install", "install.disk-full-tree", 3),
    Failure("interrupt", ("it was interrupted", "run it again"), "install", "install.interrupted", 2),
    Failure("kill", ("it was interrupted", "run it again"), "install", "install.killed", -9),
    Failure(
        "wrong MPI",
        ("MPI mpich@5.0.2 was asked for, but the result is openmpi@5.0.11", "concretize again"),
        also=_lock("osu-micro-benchmarks.openmpi"),
    ),
    Failure(
        "wrong release",
        ("osu-micro-benchmarks@7.4 was asked for, but the result is osu-micro-benchmarks@7.3",),
        also=_site("packages: {osu-micro-benchmarks: {require: '@7.4'}}\n"),
    ),
    Failure(
        "wrong compiler",
        ("compiler llvm was asked for, but the result is gcc@12.2.0",),
        also=_site("packages: {c: {require: [llvm]}}\n"),
    ),
    Failure(
        "no lock",
        ("there is no such lock", "see its output"),
        also=lambda tape: (tape.played / "concretize.lock").unlink(),
    ),
    Failure("missing program", ("installed without", "startup/osu_init", "build log"), also=_without_ft),
    Failure(
        "too old", ("Spack 0.23.1 is too old", "SPACK_ROOT"), also=lambda tape: tape.write("--version.txt", "0.23.1\n")
    ),
    Failure("no Spack", ("which is not a version",), also=lambda tape: tape.write("--version.txt", "hello\n")),
    Failure(
        "another repository",
        ("'v2026.07.0', commit ", "where release v2026.06.0 of spack-packages", "check that release out"),
        also=lambda tape: tape.commit("v2026.07.0"),
    ),
    Failure(
        "moved tag",
        ("'v2026.06.0', commit ", "commit d4f7c711a6a4, is needed", "that tag was moved there"),
        also=lambda tape: tape.commit("v2026.06.0"),
    ),
    Failure(
        "edited recipe",
        ("'packages/zlib/package.py' differs from release v2026.06.0", "a repository of your own"),
        also=_edit("packages/zlib/package.py"),
    ),
    Failure(
        "added recipe",
        ("'packages/mine/' differs from release v2026.06.0", "a repository of your own"),
        also=_edit("packages/mine/package.py"),
    ),
    Failure(
        "no clone",
        ("not a Git clone, but release v2026.06.0", "name a clone of it"),
        also=lambda tape: shutil.rmtree(tape.repository / ".git"),
    ),
    Failure(
        "read-only tree", ("it cannot write", "read-only file", "move install_tree"), "install", "install.read-only", 3
    ),
    Failure(
        "damaged for good",
        (
            "a prefix is damaged (osu-micro-benchmarks)",
            "osu_init differs from what was installed",
            "find out who writes there",
        ),
        also=lambda tape: tape.write(
            "install.sh", (tape.played / "install.sh").read_text() + f"echo x > {tape.prefix}/{INIT}\n"
        ),
    ),
    Failure(
        "no answer",
        ("said 'hello', which is not an answer",),
        also=lambda tape: tape.write("decides.sh", "echo hello\n"),
    ),
]
