# SPDX-License-Identifier: BSD-3-Clause
"""A stand-in for Spack that plays real transcripts, and a package that is "installed" as scripts."""

import os
import shutil

from fabric_checks.software.installed import PACKAGES as REPOSITORY
from fabric_checks.software.suites import PACKAGES
from tests import programs
from tests.conftest import GOLDEN, ROOT, TESTS

TRANSCRIPTS = GOLDEN / "spack"
LOCAL = ROOT / "config/systems/local/spack"
COMMON = ROOT / "spack-envs/common"
OSU = PACKAGES["osu-micro-benchmarks"]

#: The releases of the transcripts.
SITE = """packages:
  osu-micro-benchmarks: {require: "@7.3"}
  lammps: {require: "@20220623.4 ~lib+mpi+molecule+kspace+manybody+rigid+granular fft=kiss"}
"""


class Tape:
    """A folder to play from, a site scope, a package repository, and the variables to run with.

    :param home: the value of FABRIC_HOME; a folder of its own if it is not given.
    """

    def __init__(self, folder, home=None):
        self.folder = folder
        self.home = home or folder / "home"
        self.played = folder / "tape"
        self.calls_file = folder / "calls"
        self.site = folder / "site"
        self.prefix = folder / "prefix"
        self.program = folder / "spack/bin/spack"
        for made in (self.played, self.site, self.program.parent):
            made.mkdir(parents=True)
        self.home.mkdir(exist_ok=True)
        (self.site / "packages.yaml").write_text(SITE)
        shutil.copy(TESTS / "software/spack/spack", self.program)
        self.repository = folder / "spack-packages"
        put(self.repository / "packages/zlib/package.py", "class Zlib: ...\n")
        self.git("init", "--quiet")
        self.pin()
        self.write(
            "--version.json", "1.1.0 (2e907202bcc8209a6a62243aab50c179b524cc3b)\n"
        )
        self.write("python.json", f"{self.repository}\n")

    @property
    def variables(self):
        """The environment variables of a run: the stand-in is on PATH, and there is nothing of the real
        one."""
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("SPACK", "FABRIC_SPACK"))
        }
        return inherited | {
            "PATH": f"{self.program.parent}:{os.environ['PATH']}",
            "SPACK_PLAYBACK": str(self.played),
            "SPACK_CALLS": str(self.calls_file),
            "FABRIC_HOME": str(self.home),
            "FABRIC_SPACK_SITE": str(self.site),
        }

    @property
    def calls(self):
        """The command of each call so far."""
        lines = (
            self.calls_file.read_text().splitlines() if self.calls_file.exists() else []
        )
        known = ("python", "concretize", "install", "--version", "mirror")
        return [next(word for word in known if word in line.split()) for line in lines]

    def write(self, name, text):
        (self.played / name).write_text(text)

    def commit(self):
        """Make the package repository another one."""
        self.git("add", ".")
        self.git("commit", "--quiet", "--allow-empty", "-m", "another")

    def pin(self):
        """Give the commit the name of the pinned one, by a replacement in Git."""
        self.commit()
        self.git(
            "update-ref",
            f"refs/replace/{REPOSITORY.commit}",
            self.git("rev-parse", "HEAD"),
        )
        (self.repository / ".git/HEAD").write_text(f"{REPOSITORY.commit}\n")

    def git(self, *arguments):
        """Call Git in the package repository; return what it prints."""
        git = [
            "git",
            "-C",
            str(self.repository),
            "-c",
            "user.name=x",
            "-c",
            "user.email=x@example.invalid",
        ]
        return programs.run([*git, *arguments], check=True).stdout.strip()

    def succeed(self, package="osu-micro-benchmarks", mpi="mpich"):
        """Play a build that succeeds: its real transcripts and lock, and programs that print golden
        outputs."""
        for word in ("concretize", "install"):
            self.write(
                f"{word}.txt", (TRANSCRIPTS / f"{word}.{package}.{mpi}.txt").read_text()
            )
        self.write(
            "concretize.lock", (TRANSCRIPTS / f"{package}.{mpi}.lock.json").read_text()
        )
        names = [
            *PACKAGES[package].files("@3.4.3 names:=is"),
            "libexec/osu-micro-benchmarks/mpi/pt2pt/osu_multi_lat",
        ]
        program = TESTS / "software/spack/program"
        self.write(
            "install.sh",
            f"""set -e
for file in {" ".join(names)}; do
    mkdir -p "$(dirname {self.prefix}/$file)" "$(dirname "$1/.spack-env/._view/abc/$file")"
    cp {program} {self.prefix}/$file
    ln -sf {self.prefix}/$file "$1/.spack-env/._view/abc/$file"
done
ln -sfn "$1/.spack-env/._view/abc" "$1/.spack-env/view"
""",
        )

    def fail(self, word, transcript, status):
        """Play a failure from its real transcript."""
        self.write(f"{word}.txt", (TRANSCRIPTS / f"{transcript}.txt").read_text())
        if status < 0:
            self.write(f"{word}.sh", f"kill {status} $PPID\n")
        else:
            self.write(f"{word}.status", f"{status}\n")


def put(path, text):
    """Write a file and the folders it needs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def fail_to_compile(tape):
    """Let the compiler fail; the transcript names a build log that is there."""
    tape.fail("install", "install.build-error", 1)
    log = put(
        tape.folder / "spack-build-out.txt",
        (TRANSCRIPTS / "install.build-error.log").read_text(),
    )
    lines = (tape.played / "install.txt").read_text().splitlines()
    lines = [
        f"  {log}" if line.strip().endswith("spack-build-out.txt") else line
        for line in lines
    ]
    tape.write("install.txt", "\n".join(lines) + "\n")
