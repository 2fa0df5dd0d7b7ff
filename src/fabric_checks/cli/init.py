# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks init``: detect this machine, ask for the rest, and write the files of a site."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

from fabric_checks.cli.verb import flag, option, verb
from fabric_checks.core import console
from fabric_checks.core.errors import FabricError
from fabric_checks.core.templates import filled
from fabric_checks.onboarding import installation, questions, site_files
from fabric_checks.onboarding.detection import look
from fabric_checks.onboarding.facts import Facts
from fabric_checks.onboarding.launchers import SCHEDULERS
from fabric_checks.onboarding.probe import Machine
from fabric_checks.onboarding.questions import Answer, Question, taken

_EPILOG = """
\b
Examples:
  fabric-checks init                                      looks, asks, writes
  fabric-checks init --name ada --link-MBps 25000         asks only what these two leave open
  fabric-checks init --name ada --partition batch --yes   asks nothing, accepts the guesses
"""


@verb("init", _EPILOG)
@option("--name", "The name of the system.")
@option(
    "--partition",
    "The partitions or queues to measure, with commas.",
    "--queue",
    "queue",
)
@option(
    "--mpi",
    "The MPIs to measure, with commas, or all; by default the first of those found.",
)
@option("--nodes", "The most nodes of a job.")
@option("--cores", "The cores of a node.")
@option("--account", "The account of jobs.")
@option("--one-job", "Whether jobs wait long in the queue (Slurm): yes or no.")
@option("--gres", "The generic resources that jobs ask for, such as gpu:4 (Slurm).")
@option(
    "--link-MBps",
    "The rate of one link of a node in one direction, in MB/s.",
    "link_MBps",
)
@option("--nics", "The number of such links of a node.")
@flag("--this-host", "Describe this host alone; ask no scheduler.")
@flag("--spack", "Write scopes for programs that Spack builds, too.")
@flag("--yes", "Accept the guess where nothing else is given.")
def command(*, yes: bool, this_host: bool, spack: bool, **given: str | None) -> None:
    """Detect this machine and write config/systems/NAME.py and config/references/NAME.yaml.

    It prints the facts, asks for those that it cannot detect, and marks its guesses in the file. It
    overwrites nothing. At the end its modules are loaded, and the cases of all levels are loaded.
    """
    if given["name"] is not None:
        questions.free_name(
            given["name"], installation.is_free
        )  # before anything is asked
    machine = Machine()
    facts = look(machine, socket.gethostname(), this_host=this_host)
    console.print(*shown(facts), "")
    answers = questions.answered(
        facts,
        installation.is_free,
        lambda each: _answer(each, given.get(each.key), yes=yes),
    )
    asked = set(answers.system).union(*answers.queues.values())
    for key, value in given.items():
        if value is not None and key not in asked:
            raise FabricError(
                f"{_option(key)} does not apply to what was found here; leave it out"
            )

    _write(site_files.files(facts, answers, spack=spack))
    name, chosen = str(answers.system["name"].value), site_files.chosen(facts, answers)
    for each in chosen:
        if fault := each.modules and installation.load_modules(machine, each):
            raise FabricError(
                f"{fault}; mend `modules` of {each.name} in config/systems/{name}.py"
            )
    mpi = "none" if chosen else site_files.wheels(facts)[0]
    cases = installation.cases_of(name, mpi)
    option = {"none": " --mpi none", "mpich": ""}.get(mpi, f" --mpi {mpi}")
    console.print(
        f"{cases} cases were loaded; nothing was run",
        "",
        "next:",
        f"  ci/run --system {name}{option} --mode smoke",
        f"  ci/nightly --system {name}{option}",
        f"  fabric-checks references propose --system {name}     # after five passes",
    )


def _write(files: dict[str, str]) -> None:
    """Write the files of a site, and print which there are and what was guessed in them."""
    paths = [
        path.relative_to(installation.CONFIG.parent)
        for path in installation.write(files)
    ]
    console.print("written:", *(f"  {path}" for path in reversed(paths)), "")
    guesses = [
        f"  config/{path}, {each}"
        for path in reversed(files)
        for each in site_files.guesses(files[path])
    ]
    if guesses:
        console.print("guessed, and marked in the file:", *guesses, "")


#: So many queues and notes are listed.
_MOST = 20


def shown(facts: Facts) -> list[str]:
    """Return the facts in lines."""
    template, scheduler = Path(__file__).with_name("init.jinja"), facts.scheduler
    text = filled(
        template, {}, facts=facts, scheduler=SCHEDULERS[scheduler]["called"], most=_MOST
    )
    return text.splitlines()


def _option(key: str) -> str:
    return f"--{key.replace('_', '-')}"


def _answer(question: Question, given: str | None, *, yes: bool) -> Answer:
    """Return the answer to a question: from its option, known, guessed, or asked for."""
    option = _option(question.key)
    if given is not None:
        try:
            return taken(question, given)
        except FabricError as error:
            raise FabricError(f"{option}: {error}") from None
    if not (question.certain or yes):
        return _ask(question, option)
    if question.guess == "" and question.key == "name":
        raise FabricError(
            f"nothing here suggests a name for the system; give one with {option}"
        )
    return taken(question, None)


def _ask(question: Question, option: str) -> Answer:
    """Ask until there is an answer; an empty line takes the guess."""
    stream = console.out()
    if question.choices:
        console.print(f"  there are {', '.join(question.choices)}")
    why = f" ({question.why})" if question.why else ""
    while True:
        stream.write(f"{question.text}? [{_guess_text(question.guess)}]{why} ")
        stream.flush()
        line = sys.stdin.readline()
        if not line:
            console.print("")
            raise FabricError(
                f"nobody answers; give {option}, or --yes to accept the guesses"
            )
        given = line.strip()
        try:
            return taken(question, given if given or question.guess is None else None)
        except FabricError as error:
            console.print(f"  {error}")


def _guess_text(guess: object) -> str:
    if isinstance(guess, tuple):
        return ",".join(guess)
    return f"{guess:g}" if isinstance(guess, float) else str(guess or "")
