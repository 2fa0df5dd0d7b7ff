# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks run``: for ``ci/run``."""

from __future__ import annotations

import difflib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType, ModuleType

import click

from fabric_checks.cli.verb import FAILED, USAGE, flag
from fabric_checks.core import console, paths
from fabric_checks.core.commands import printed
from fabric_checks.core.errors import FabricError, unknown_name
from fabric_checks.core.levels import LEVELS
from fabric_checks.core.text import one_line, uncoloured
from fabric_checks.records import repeats
from fabric_checks.records.sessions import NO_MATCH, session_id
from fabric_checks.report.terminal import progress
from fabric_checks.schedulers import in_job, reservations

#: The options that ReFrame does not have.
_OF_CI_RUN = (
    "--mpi --stack --mirror --reservation --one-job --continue --beside --confirm --cost --profile --budget"
    " --only"
)

#: What ReFrame prints, with status 0, if it lists, describes or has prepared nothing.
_NOTHING = re.compile(
    r"^Found 0 (?:check|tag)\(s\)|^Concretized 0 test case|Ran 0/\d+ test case|^\[\]$",
    re.M,
)


@click.command("run", hidden=True, context_settings={"ignore_unknown_options": True})
@flag("--as-is", "LINE lists or describes: pass its output on, and show no screen.")
@click.option(
    "--confirm", type=click.IntRange(0, 9), help="Measure misses again N times."
)
@click.option("--one-job", type=click.Choice([in_job.ALL, in_job.DECLARED]))
@click.argument("line", nargs=-1, required=True, type=click.UNPROCESSED)
def command(
    *, as_is: bool, confirm: int | None, one_job: str | None, line: tuple[str, ...]
) -> None:
    """Run LINE, a ReFrame, show how far it is, and end with the one screen.

    The exit status is ReFrame's, or 1 if it is 0 and the session is still no success.
    """
    if as_is:
        sys.exit(_run_as_is(line))
    if reservation := reservations.asked_for():
        _require(reservation, line)
    times = _times(line, confirm)
    if one_job:
        os.environ[in_job.VARIABLE] = one_job
        os.environ[repeats.TIMES] = f"{times}"
        line = (sys.executable, "-m", f"{in_job.__name__}.session", *line[1:])
    began_s, state = time.monotonic(), progress.State()
    errors: list[str] = []
    with progress.shown(state) as follow:
        status = _run(line, follow, errors, _ending)
        if status == 1 and times:
            status = _measure_again(times, line, follow, errors, state)
    sys.exit(_end(status, state, errors, time.monotonic() - began_s))


def _end(
    status: int, state: progress.State, errors: list[str], elapsed_s: float
) -> int:
    """End a run with the screen, or the message of a ReFrame that ran nothing; return the exit status.

    :param status: ReFrame's; :param errors: the lines of its standard error.
    """
    folder, session = paths.results(), session_id()
    log = folder / "logs" / f"{session}.log"
    if not log.exists():
        # ReFrame did not start: its own message is the only one.
        said = re.sub(r"(?m)^Log file\(s\) saved in .*\n?", "", "\n".join(state.lines))
        console.error(*re.sub("(?m)^ERROR: ", "error: ", said).splitlines())
        # Of a process only the text is left, not the class of its error.
        return USAGE if unknown_name(said) else status
    failures = [one_line(text) for text in errors if text.startswith("error: ")]
    if status and failures and not (state.ended or state.running):
        # A check or the configuration has refused to start, and said why: that was no run.
        log.unlink()
        return status
    messages = tuple(dict.fromkeys([*failures, *state.messages]))
    is_success = _ending().end(folder, session, elapsed_s, messages)
    return status or int(not is_success)


def _times(line: Sequence[str], given: int | None) -> int:
    """Return how often a miss is measured again: as given, or else by the level of a command line."""
    mode = re.search(r"--mode[= ](\w+)", " ".join(line))
    level = LEVELS.get(mode[1]) if mode else None
    return given if given is not None else level.confirm if level else 0


def _measure_again(
    times: int,
    line: Sequence[str],
    follow: Callable[[str], None],
    errors: list[str],
    state: progress.State,
) -> int:
    """Measure misses again, unless the run has begun with that; return its exit status."""
    from fabric_checks.cli.repeating import Repeater  # noqa: PLC0415  (slow to import)
    from fabric_checks.records import runs  # noqa: PLC0415  (slow to import)

    folder, session = paths.results(), session_id()
    if not (folder / "logs" / f"{session}.log").exists():
        return 1
    if state.again:
        return int(bool(runs.verdict(runs.load_session(folder, session))))

    def run(again: Sequence[str], env: Mapping[str, str]) -> int:
        state.begin_again()
        return _run(again, follow, errors, lambda: None, env)

    return int(not Repeater(line, folder, session, run).measure_again(times))


def _run_as_is(line: Sequence[str]) -> int:
    """Run a command that lists, or makes job scripts, with its output; return its exit status, or 1 if it
    found nothing."""
    said: list[str] = []

    def follow(text: str) -> None:
        said.append(text)
        if text.startswith("ERROR: "):
            console.error(f"error: {text.removeprefix('ERROR: ')}")
        else:
            console.print(text)

    status = _run(line, follow, [], lambda: None)
    output = "\n".join(said)
    if unknown_name(output):
        return USAGE
    if _NOTHING.search(output):
        console.error(f"error: {NO_MATCH}")
        return status or FAILED
    return status


def _require(reservation: str, line: tuple[str, ...]) -> None:
    """Refuse a reservation that a partition of the system would not take."""
    asked = [word for word in line if word not in ("-r", "--run")]
    asked.append("--show-config=systems/0")
    try:
        system = json.loads(printed(asked))
        name, partitions = str(system["name"]), list(system["partitions"])
    except (FabricError, ValueError, KeyError, TypeError) as error:
        raise FabricError(
            f"--reservation {reservation}: ReFrame lists no partitions: {error}"
        ) from None
    reservations.require(reservation, name, partitions)


def _ending() -> ModuleType:
    """Return what ends a run, with all that it needs."""
    from fabric_checks.cli import run_summary  # noqa: PLC0415  (slow to import)
    from fabric_checks.report import page  # noqa: F401, PLC0415  (slow to import)

    return run_summary


def _run(
    line: Sequence[str],
    read: Callable[[str], None],
    errors: list[str],
    meanwhile: Callable[[], object],
    env: Mapping[str, str] = MappingProxyType({}),
) -> int:
    """Run a command, and return its exit status.

    :param read: gets each line of its standard output.
    :param errors: gets the lines of its standard error, which are also passed on.
    :param meanwhile: called while the command starts, when nothing is measured yet.
    :param env: more variables of its environment.
    """

    def interrupted(number: int, _frame: object) -> None:
        # A terminal, and a night, interrupt the whole group of processes: ReFrame ends in order, and is
        # waited for.
        if number == signal.SIGTERM:
            process.terminate()
        elif not console.out().isatty():
            # What reads the output, as `tee`, ends by the same interrupt, and the screen would be lost.
            with suppress(OSError), Path("/dev/tty").open("w") as terminal:
                terminal.write(
                    f"\ninterrupted: `fabric-checks show --session {session_id()}` has what was measured\n"
                )

    before = {
        number: signal.signal(number, interrupted)
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        process = subprocess.Popen(
            line,
            env=os.environ | {"FABRIC_SESSION": session_id(), **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
        )
        aside = threading.Thread(target=_pass_on, args=(process.stderr, errors))
        aside.start()
        meanwhile()
        for text in process.stdout or ():
            read(
                uncoloured(text.rstrip("\n"))
            )  # ReFrame prints colours until it has read its configuration
        status = process.wait()
        aside.join()
    except OSError as error:
        raise FabricError(
            f"{line[0]}: {error.strerror}; make sure that ReFrame is installed, for example with `."
            " ci/env.sh`"
        ) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return status if status >= 0 else 128 - status


def _pass_on(stream: Iterable[str], errors: list[str]) -> None:
    usage = ""
    for text in stream:
        line = text.rstrip("\n")
        if line.startswith("usage: ") or (usage and line.startswith(" ")):
            usage += line
            continue
        if usage:
            line = _wrong_option(line.partition(" error: ")[2], usage)
        errors.append(line)
        console.error(line)


def _wrong_option(cause: str, usage: str) -> str:
    """Return ReFrame's refusal of its command line as one line, with the option that may have been meant."""
    wrong = re.search(r"--[\w-]+", cause)
    known = re.findall(r"--[\w-]+", f"{_OF_CI_RUN} {usage}")
    near = difflib.get_close_matches(wrong[0] if wrong else "", known, 1, cutoff=0.7)
    remedy = f"did you mean {near[0]}?" if near else "see ci/run --help"
    return f"error: {cause}; {remedy}"
