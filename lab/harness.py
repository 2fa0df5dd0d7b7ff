# SPDX-License-Identifier: BSD-3-Clause
"""What the models of the laboratory share: the verb that judges, and the table of how often it is right.

A model has rows, and a function that tries a row with a seed; physics, procedure and scoring are its own.
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import io
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

#: Tries a row with a seed; returns which columns it counts in, None if in none at all, and what was said.
Trial = Callable[[str, int], tuple[Iterable[str] | None, str]]


def verb(
    files: Sequence[Path], topology: Sequence[Path], options: Sequence[str]
) -> tuple[dict[str, Any], int]:
    """Return what the verb ``blame`` prints as JSON, and its exit status; in each run also its ``notes``."""
    from fabric_checks.cli.blame import command  # the version under test may be another

    words = [*map(str, files), "--json", *options]
    for path in topology:
        words += ["--topology", str(path)]
    printed, status = io.StringIO(), 0
    with contextlib.redirect_stdout(printed):
        try:
            command.main(words, standalone_mode=False)
        except SystemExit as end:
            status = int(end.code or 0)
        except (
            Exception
        ) as error:  # a defect of the version under test, which the table counts
            return {
                "runs": {
                    "": {
                        "metrics": {},
                        "notes": [],
                        "findings": [],
                        "crash": repr(error),
                    }
                }
            }, 2
    document = json.loads(printed.getvalue())
    for run in document["runs"].values():
        run["notes"] = [flat(found) for found in run["findings"]]
    return document, status


def flat(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return a finding with the members of its data beside the others, and whether it blames."""
    return {**found, **found.get("data", {}), "fault": found["severity"] == "fault"}


@contextlib.contextmanager
def folder_of(trial: str, keep: str = "") -> Iterator[Path]:
    """Yield a folder for the files of a trial, below the one in which they are kept, if any."""
    with tempfile.TemporaryDirectory() as own:
        folder = Path(keep, trial.replace(" ", "_")) if keep else Path(own)
        folder.mkdir(parents=True, exist_ok=True)
        yield folder


def keeping(parser: argparse.ArgumentParser) -> None:
    """Add the option to keep the files of each trial."""
    parser.add_argument(
        "--keep", default="", metavar="FOLDER", help="keep the files of each trial here"
    )


def options(prog: str, about: str | None) -> argparse.ArgumentParser:
    """Return the options of all tables; a model adds its own."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {prog}",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "rows", nargs="*", metavar="ROW", help="names or patterns; default: all"
    )
    parser.add_argument("--trials", type=int, default=10, help="of each row")
    parser.add_argument("--first-seed", type=int, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--details", action="store_true", help="print what was said in each trial"
    )
    return parser


def table(
    given: argparse.Namespace, rows: Iterable[str], columns: Sequence[str], trial: Trial
) -> None:
    """Try the rows that are asked for, and print a line for each."""
    wanted = [
        row
        for row in rows
        if any(fnmatch.fnmatch(row, each) for each in given.rows or ["*"])
    ]
    if not wanted:
        raise SystemExit(f"error: no such row; there are: {'; '.join(rows)}")
    seeds = range(given.first_seed, given.first_seed + given.trials)
    print(f"| row, seeds {seeds[0]} to {seeds[-1]} | trials | {' | '.join(columns)} |")
    print("|---" * (len(columns) + 2) + "|")
    with ProcessPoolExecutor(given.jobs) as pool:
        for row in wanted:
            done = list(pool.map(partial(trial, row), seeds))
            counted = [words for words, _ in done if words is not None]
            counts = Counter(word for words in counted for word in words)
            cells = [str(counts[column]) for column in columns]
            print(f"| {row} | {len(counted)} | {' | '.join(cells)} |", flush=True)
            for seed, (words, said) in (
                zip(seeds, done, strict=True) if given.details else ()
            ):
                print(f"    {seed} {', '.join(words or ['not counted'])}: {said}")
