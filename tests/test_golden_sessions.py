# SPDX-License-Identifier: BSD-3-Clause
"""Archived results of every kind, and all that the command says of them: what changes on purpose, changes
there.

Each set of `golden/sessions` is unpacked into a folder of results of its own. The lines of
`golden/sessions/verbs.yaml` are run in their order, and the text of each must be that of
`golden/expected/SET-NAME.txt`. After a change that is intended, write those files again, and read the diff of
git before it is committed:

    FABRIC_GOLDEN=write pytest tests/test_golden_sessions.py

Only the command line is used. JSON is printed with a line for each object that has only what differs from the
object before it in the same list; of an HTML page the text is taken, a line for each paragraph, row or label.
"""

import contextlib
import difflib
import html.parser
import io
import json
import os
import re
import runpy
import shlex
import shutil
import sys
import tarfile
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
import yaml

HERE = Path(__file__).resolve().parent / "golden"
SESSIONS, EXPECTED = HERE / "sessions", HERE / "expected"
SETS = yaml.safe_load((SESSIONS / "verbs.yaml").read_text())
#: The day of all runs. Nights look back three months, so runs are unpacked as yesterday's, and printed as of
#: this day.
DAY = "2026-11-26"
YESTERDAY = f"{datetime.now(timezone.utc) - timedelta(days=1):%Y-%m-%d}"
#: What the shell may say of this clone; all else of it would change what is printed.
KEPT = ("FABRIC_HOME", "FABRIC_PATH", "FABRIC_PYTHON", "FABRIC_GOLDEN")
#: What differs from run to run: times, the version of this collection, and names of findings, which are made
#: of dates.
VARYING = (
    (
        r"Written \S+ \S+ UTC by fabric-checks \S+",
        "Written NOW by fabric-checks VERSION",
    ),
    (
        r"recomputed with the collection [\w.+]+",
        "recomputed with the collection VERSION",
    ),
    (r'(?<="id": ")[0-9a-f]{8}|(?<=: )[0-9a-f]{8}(?=, since)', "NAME"),
)


class Page(html.parser.HTMLParser):
    """The text of a page: a line for each block, ` | ` between the cells of a row, and the strings of JSON
    scripts."""

    WITHIN = frozenset(
        (
            "a",
            "b",
            "button",
            "code",
            "em",
            "i",
            "small",
            "span",
            "strong",
            "sub",
            "sup",
            "tspan",
        )
    )

    def __init__(self, text):
        super().__init__()
        self.parts, self.inside = [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag in ("td", "th"):
            self.parts.append(" | ")
        elif tag not in self.WITHIN:
            self.parts.append("\n")
        self.inside = "json" if ("type", "application/json") in attrs else tag

    def handle_endtag(self, tag):
        if tag not in (*self.WITHIN, "td", "th"):
            self.parts.append("\n")
        self.inside = ""

    def handle_data(self, data):
        if self.inside == "json":
            self.parts += (f"{text}\n" for text in strings(json.loads(data)))
        elif self.inside not in ("script", "style"):
            self.parts.append(re.sub(r"\s+", " ", data) if data.strip() else " ")

    def __str__(self):
        lines = (
            re.sub(r" +", " ", line).removeprefix(" | ").strip()
            for line in "".join(self.parts).splitlines()
        )
        return "\n".join(line for line in lines if line) + "\n"


def strings(value):
    """Return all strings in a value of JSON, in their order."""
    inner = (
        value.values()
        if isinstance(value, dict)
        else value
        if isinstance(value, list)
        else ()
    )
    return (
        [value]
        if isinstance(value, str)
        else [text for each in inner for text in strings(each)]
    )


def rounded(value):
    """Return a value of JSON with numbers of nine digits, so that the order of additions does not show."""
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [rounded(inner) for inner in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def lines_of_json(value, name="", indent=""):
    """Yield lines for a value of JSON; of objects in a list only what differs from the one before."""
    if (
        isinstance(value, list)
        and value
        and all(isinstance(each, dict) for each in value)
    ):
        yield f"{indent}{name}[{len(value)}]"
        before = {}
        for each in value:
            gone = {key: "gone" for key in before if key not in each}
            news = {
                key: new
                for key, new in each.items()
                if key not in before or before[key] != new
            }
            yield f"{indent}- {json.dumps(news | gone, ensure_ascii=False, sort_keys=True)}"
            before = each
    elif isinstance(value, dict) and len(json.dumps(value)) > 120:
        yield f"{indent}{name}:"
        for key, inner in sorted(value.items()):
            yield from lines_of_json(inner, key, f"{indent}  ")
    else:
        yield f"{indent}{name}: {json.dumps(value, ensure_ascii=False, sort_keys=True)}"


def run(line):
    """Run a line of the command in this process, and return its status and what it prints."""
    out, argv = io.StringIO(), sys.argv
    sys.argv = ["fabric-checks", *shlex.split(line)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            runpy.run_module("fabric_checks", run_name="__main__")
        status = 0
    except SystemExit as end:
        status = end.code or 0
    finally:
        sys.argv = argv
    return status, out.getvalue()


def moved(text, day, other):
    """Return text with another day, in both forms that a record has."""
    return text.replace(day, other).replace(
        day.replace("-", ""), other.replace("-", "")
    )


def unpack(name, folder):
    """Write a set of results below a folder, as if it had been run yesterday."""
    with tarfile.open(SESSIONS / f"{name}.tar.xz") as archive:
        for member in archive:
            path = folder / moved(member.name, DAY, YESTERDAY)
            path.parent.mkdir(parents=True, exist_ok=True)
            content = archive.extractfile(member).read()
            path.write_bytes(
                content
                if path.suffix == ".tar"
                else moved(content.decode(), DAY, YESTERDAY).encode()
            )


def runs(folder):
    """Return the names of the runs in a folder of results, the first as `run1`."""
    reports = sorted(path.name for path in folder.glob("reports/run-report-*.json"))
    return {
        f"run{at}": name.removeprefix("run-report-")[:21]
        for at, name in enumerate(reports, 1)
    }


def output_of(line, folder):
    """Return the output of a line of the command, without the parts that differ between days and folders."""
    page = folder.parent / "page.html"
    status, text = run(moved(line, DAY, YESTERDAY).format(page=page, **runs(folder)))
    if "--json" in line and text.startswith(("[", "{")):
        value, end = json.JSONDecoder().raw_decode(text)
        text = "\n".join(lines_of_json(rounded(value))) + text[end:]
    if "{page}" in line:
        text += str(Page(page.read_text()))
    text = moved(text, YESTERDAY, DAY)
    references = folder.parent / "references"
    for path, word in (
        (folder, "RESULTS"),
        (references, "REFERENCES"),
        (page, "PAGE"),
        (HERE.parent.parent, "CLONE"),
    ):
        text = text.replace(str(path), word)
    for varying, word in VARYING:
        text = re.sub(varying, word, text)
    lines = (each.rstrip() for each in text.splitlines())
    return f"$ fabric-checks {line}\n" + "\n".join(lines) + f"\nstatus {status}\n"


@pytest.mark.parametrize("name", SETS)
def test_an_archived_set_reads_as_it_did(name, tmp_path, monkeypatch):
    folder = tmp_path / "results"
    unpack(name, folder)
    references = shutil.copytree(
        SESSIONS / "references", tmp_path / "references"
    )  # proposals are written beside them
    monkeypatch.chdir(folder)
    for variable in [
        key
        for key in os.environ
        if key.startswith(("RFM_", "FABRIC_")) and key not in KEPT
    ]:
        monkeypatch.delenv(variable)
    for variable, value in {
        "FABRIC_RESULTS": str(folder), "RFM_REFERENCE_PREFIX": str(references), "COLUMNS": "140",
        "TZ": "UTC", "NO_COLOR": "1", "TERM": "dumb",
    }.items():  # fmt: skip
        monkeypatch.setenv(variable, value)
    differences = []
    for verb, line in SETS[name].items():
        expected, text = EXPECTED / f"{name}-{verb}.txt", output_of(line, folder)
        if os.environ.get("FABRIC_GOLDEN") == "write":
            expected.write_text(text)
        old = expected.read_text() if expected.exists() else ""
        differences += difflib.unified_diff(
            old.splitlines(),
            text.splitlines(),
            str(expected.relative_to(HERE.parent)),
            "now",
            lineterm="",
            n=1,
        )
    assert not differences, "\n".join(differences[:200])


def test_each_expected_file_belongs_to_a_line():
    names = {f"{name}-{verb}.txt" for name, lines in SETS.items() for verb in lines}
    assert {path.name for path in EXPECTED.iterdir()} == names
