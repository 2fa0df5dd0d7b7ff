# SPDX-License-Identifier: BSD-3-Clause
"""Sites by the output of their tools, recorded in tests/golden/sites, in the forms of manuals and public
threads.

A line ``% NAME=VALUE`` sets variables, ``$ COMMAND`` begins the output of a command (``! N`` as its first
line: its exit status), ``& PATH`` the content of a file. All names are invented.
"""

import re
import shlex
import shutil
from pathlib import Path

from fabric_checks.onboarding import questions, site_files
from fabric_checks.onboarding.probe import Machine
from tests.conftest import GOLDEN

SITES = GOLDEN / "sites"
#: Each with the name of a host on which somebody calls `init`.
HOSTS = {
    "slurm_infiniband": "login2.ada.example",
    "slurm_slingshot": "ln03",
    "slurm_ethernet": "head",
    "slurm_gpus": "dune-login1",
    "pbs": "elm1",
    "flux": "fern1000",
    "no_scheduler": "hut",
}


class Recorded(Machine):
    """A recorded machine: a tool is there if output of it was recorded."""

    def __init__(self, text):
        variables, self.answers, self.files, lines = {}, {}, {}, None
        for line in text.splitlines():
            if line.startswith("% "):
                variables |= dict(word.split("=", 1) for word in shlex.split(line[2:]))
            elif line.startswith(("$ ", "& ")):
                lines = (self.answers if line[0] == "$" else self.files).setdefault(
                    line[2:], []
                )
            else:
                lines.append(line)
        super().__init__(variables=variables)

    def has(self, tool):
        return tool in {command.split()[0] for command in self.answers} | {"bash"}

    def prefix_of(self, tool):
        return "/usr" if self.has(tool) else ""

    def ask(self, *command):
        if not self.has(command[0]):
            return None
        words = re.sub(
            r"^bash --login -c module (.*) 2>&1$", r"module \1", " ".join(command)
        )
        lines = self.answers.get(words, ["! 1", f"{words}: not recorded"])
        is_fault = lines[:1] and lines[0].startswith("! ")
        self.asked[words] = f"exit status {lines[0][2:]}" if is_fault else "ok"
        return None if is_fault else "".join(f"{line}\n" for line in lines)

    def read(self, path):
        return "\n".join(self.files.get(path, []))

    def listed(self, path):
        below = [
            name[len(path) + 1 :] for name in self.files if name.startswith(f"{path}/")
        ]
        return sorted({name.split("/")[0] for name in below})


def site(name):
    """Return a recorded site."""
    return Recorded((SITES / f"{name}.txt").read_text())


def tools(machine, folder):
    """Write programs that print recorded output into a folder, and return the variables to call them with."""
    folder = Path(folder)
    folder.mkdir()
    scripts = {
        tool: [] for tool in ("sinfo", "bhosts", "pbsnodes", "flux", "mpicc")
    }  # what is here is none of them
    for number, (command, lines) in enumerate(machine.answers.items()):
        tool, _, options = command.partition(" ")
        is_fault = bool(lines) and lines[0].startswith("! ")
        (folder / f"said-{number}").write_text(
            "".join(f"{line}\n" for line in lines[is_fault:])
        )
        status = lines[0][2:] if is_fault else "0"
        scripts.setdefault(tool, []).append(
            f"  {shlex.quote(options)}) cat {folder}/said-{number}; exit {status} ;;\n"
        )
    for tool, cases in scripts.items():
        path = folder / tool
        load = '  load\\ *) eval "$LOAD" ;;\n' if tool == "module" else ""
        path.write_text(
            f'#!/bin/sh\ncase "$*" in\n{"".join(cases)}{load}  *) echo "not recorded: $*" >&2; exit 1'
            " ;;\nesac\n"
        )
        path.chmod(0o755)
    # A login shell would define the machine's own `module`.
    (folder / "bash").write_text(
        f'#!/bin/sh\n[ "$1" = --login ] && shift\nexec {shutil.which("bash")} "$@"\n'
    )
    (folder / "bash").chmod(0o755)
    return machine.variables


def written_by_init(facts, *, spack=False, **given):
    """Return the files that `init --yes` writes."""
    answers = questions.answered(
        facts, lambda _: True, lambda each: questions.taken(each, given.get(each.key))
    )
    return site_files.files(facts, answers, spack=spack)
