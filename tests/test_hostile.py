# SPDX-License-Identifier: BSD-3-Clause
"""Whatever is in results, every verb that reads them ends in order: what is bad is named, what is good is
used."""

import json
import os
import re

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabric_checks.cli import run_summary
from fabric_checks.cli.main import cli
from fabric_checks.comparison import changes
from fabric_checks.core.errors import FabricError
from fabric_checks.nightly import retention
from fabric_checks.records import cost, series, validation
from fabric_checks.records.record import FIELDS
from fabric_checks.references import propose
from fabric_checks.report import collection
from tests.builders import case, load, record, write, write_session
from tests.records.bad_lines import LINES

NAME = record()["session"]
#: More than the statistics need, so that they have something to say.
RUNS = 8


def night(folder):
    return [
        "nightly",
        "--session",
        NAME,
        "--system",
        "s",
    ]


def estimate(folder):
    plan = folder / "plan.json"
    case = cost.PlannedCase("s", "p", "e", "OsuLatency", 2)
    cost.Plan("s", 1, (case,)).write(plan)
    return ["cost", "--plan", plan]


#: The verbs: the arguments for a folder, the exit status when lines were left out, and the fields that are
#: read of all records; what a verb does not ask for is not looked at, and harms nobody.
VERBS = {
    "show": (lambda folder: ["show", folder, "--session", NAME, "--json"], 1, FIELDS),
    "compare": (
        lambda folder: ["compare", f"a={folder}", f"b={folder}@2026-02-02.."],
        1,
        series.COMPARED,
    ),
    "changes": (lambda folder: ["changes", folder], 3, changes.FIELDS),
    "report": (
        lambda folder: ["report", folder, "-o", folder / "report.html"],
        1,
        collection.COLUMNS,
    ),
    "cost": (estimate, 0, cost.COLUMNS),
    "propose": (
        lambda folder: ["references", "propose", folder, "--system", "s"],
        1,
        propose.COLUMNS,
    ),
    "nightly": (night, 0, changes.FIELDS),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder of results with some good runs, each of which has its report and log."""
    monkeypatch.setenv("FABRIC_RESULTS", str(tmp_path))
    monkeypatch.setenv("RFM_REFERENCE_PREFIX", str(tmp_path / "references"))
    monkeypatch.setattr(
        retention, "DAYS", 20_000
    )  # the night's report is about the last three months
    return filled(tmp_path)


def filled(folder):
    (folder / "references").mkdir(exist_ok=True)
    write(folder / "perflogs/s/p/Good.jsonl", [record(run) for run in range(RUNS)])
    passed = case(perfvalues={"s:p:latency_8B": [1.5, 0, None, None, "us", "pass"]})
    write_session(folder, [passed], session=NAME, cmdline="reframe -r")
    return folder


def run(*arguments):
    """Run a verb; return its exit status and its output, as a shell has it. Whatever else it raises is a
    fault."""
    done = CliRunner().invoke(cli, [str(each) for each in arguments])
    output = done.output
    if isinstance(done.exception, FabricError):
        output += f"error: {done.exception}\n"
    elif isinstance(done.exception, OSError):
        output += f"error: {done.exception.filename}: {done.exception.strerror}\n"
    elif done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, output


def faults(folder, output):
    """Return the warnings of a verb; a night keeps them in a file."""
    kept = folder / "nightly/s/latest/night.json"
    lines = (
        json.loads(kept.read_text())["warnings"]
        if kept.exists()
        else output.splitlines()
    )
    return [line.strip().removeprefix("warning: ") for line in lines]


@pytest.mark.parametrize("verb", VERBS)
def test_bad_lines_cost_themselves_alone(verb, folder):
    """Each bad line is between good ones, in a file of its own."""
    arguments, bad_status, fields = VERBS[verb]
    good, files = [], {}
    for number, (name, (bad, _)) in enumerate(LINES.items()):
        around = [
            record(jobid=f"{number}{side}", metric=f"m{number}{side}") for side in "ab"
        ]
        good += around
        files[name] = write(
            folder / f"perflogs/s/p/Bad{number}.jsonl", [around[0], bad, around[1]]
        )
    status, output = run(*arguments(folder))
    assert status == bad_status, output
    named = faults(folder, output)
    for name, (_, cause) in LINES.items():
        lines = [line for line in named if line.startswith(f"{files[name]}:2: ")]
        # Of a field that is asked for, or of what makes a record; that of no session is not that of the one
        # shown.
        field = re.match(r"'(?:metrics\[0\]\.(?:values\[0\]\.)?)?(\w+)", cause)
        looked_at = fields and (
            field is None or field[1] in (*fields, *validation.REQUIRED)
        )
        of_no_session = name in ("no session", "an empty object") and verb.startswith(
            "show"
        )
        if looked_at and not of_no_session:
            assert len(lines) == 1 and cause in lines[0] and len(lines[0]) < 1000, (
                name,
                lines,
                output,
            )
    if verb == "show":
        shown = json.loads(
            CliRunner().invoke(cli, list(map(str, arguments(folder)))).stdout
        )
        assert {each["metric"] for each in good} < {each["metric"] for each in shown}


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=8)
    | st.sampled_from(["x", "1x1", "2x", "n1:0", "9999-12-31T00:00:00Z", NAME, "latency_8B", "%", "smaller",
                       "fail"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["kind", "text", "hosts", "values", "metric"]) | st.text(max_size=4),
                      inner),
    max_leaves=6,
)  # fmt: skip
mutated = st.builds(
    lambda run, fields: record(run) | fields,
    st.integers(0, RUNS),
    st.dictionaries(
        st.sampled_from(sorted(set(FIELDS) - {"format"})),
        anything,
        min_size=1,
        max_size=3,
    ),
)


@pytest.mark.parametrize("verb", VERBS)
@settings(deadline=None, max_examples=8, suppress_health_check=list(HealthCheck))
@given(bad=st.lists(mutated, min_size=5, max_size=40))
def test_whatever_fields_have_in_them(verb, tmp_path_factory, bad):
    folder = filled(tmp_path_factory.mktemp("mutated"))
    write(folder / "perflogs/s/p/Bad.jsonl", bad)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FABRIC_RESULTS", str(folder))
        patch.setattr(retention, "DAYS", 20_000)
        status, output = run(*VERBS[verb][0](folder))
        assert status in (0, 1, 3) and "Traceback" not in output
        if verb == "show":
            status, output = run("show", folder, "--short")
            assert status in (0, 1, 3)
            assert "Traceback" not in output
            assert len(output.splitlines()) <= 60


CASE = {
    "name": "A",
    "system": "s",
    "partition": "p",
    "environ": "e",
    "result": "pass",
    "fixture": False,
}


REPORT = '{"session_info": {}, "runs": [{"testcases": %s}]}'
#: Run reports, and the message about each.
REPORTS = {
    "cut": (REPORT % json.dumps([CASE] * 50)[:2000], "not a complete run report ("),
    "empty": ("", "not a complete run report ("),
    "brackets": (
        json.dumps({"runs": 0})[:-2] + "[" * 100_000,
        "not a complete run report (",
    ),
    "no runs": (json.dumps({"session_info": {}}), "missing required field `runs`"),
    "cases of texts": (REPORT % json.dumps([CASE, "x"]), "`$.runs[0].testcases[1]`"),
    "a case without name": (
        REPORT % json.dumps([CASE | {"name": None}]),
        "testcases[0].name`",
    ),
    "values without value": (
        REPORT % json.dumps([CASE | {"perfvalues": {"a": []}}]),
        "perfvalues",
    ),
    "no case": (REPORT % "[]", "no case ran"),
}


@pytest.mark.parametrize("name", REPORTS)
def test_run_reports(name, folder, capsys):
    """The fault of a report is named, and the records are shown all the same."""
    text, cause = REPORTS[name]
    path = folder / f"reports/run-report-{NAME}-0.json"
    path.write_text(text)
    status, output = run("show", folder, "--session", NAME, "--gate")
    assert status == 1 and "latency" in output and " 1.5" in output and cause in output
    status, output = run("show", folder, "--list")
    assert NAME in output and status == (0 if cause == "no case ran" else 1), output
    assert (
        len(
            [
                line
                for line in output.splitlines()
                if line.startswith(f"warning: {path}: ")
            ]
        )
        == status
    )
    status, output = run(*night(folder))
    assert status == 1 and "night failed" in output
    run_summary.end(folder, NAME, 0.0)
    assert len(capsys.readouterr().out.splitlines()) <= 60


def test_lines_of_a_journal(folder):
    """One that is nested deeply; others are in nightly/test_journal.py."""
    path = folder / "nightly/s/nights.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"[" * 10_000 + b"\n")
    status, output = run(*night(folder))
    assert status == 0
    assert "not a line of a journal: " in output
    assert "Traceback" not in output


#: What is no file of a folder, by how it is made.
KINDS = {
    "pipe": (lambda path, outside: os.mkfifo(path), "not a regular file"),
    "zero": (lambda path, outside: path.symlink_to("/dev/zero"), "not a regular file"),
    "link": (lambda path, outside: path.symlink_to(outside), "a symbolic link out of"),
    "loop": (lambda path, outside: path.symlink_to(path.name), "Too many levels"),
}


@pytest.fixture
def outside(tmp_path_factory):
    """Return a file of the reader, with a record of its own."""
    return write(
        tmp_path_factory.mktemp("reader") / "own.jsonl", [record(3, metric="secret")]
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("verb", VERBS)
def test_what_is_no_file_of_the_folder_is_refused(verb, kind, folder, outside):
    make, cause = KINDS[kind]
    make(folder / "perflogs/s/p/Z.jsonl", outside)
    status, output = run(*VERBS[verb][0](folder))
    assert status == VERBS[verb][1]
    (line,) = [
        line
        for line in faults(folder, output)
        if line.startswith(f"{folder}/perflogs/s/p/Z.jsonl: ")
    ]
    assert cause in line and "secret" not in output


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "place", ["reports/run-report-x-9.json", "nightly/s/nights.jsonl"]
)
def test_nor_is_it_among_reports_and_journals(place, kind, folder, outside):
    (folder / place).parent.mkdir(parents=True, exist_ok=True)
    KINDS[kind][0](folder / place, outside)
    verb = {"r": ["show", folder, "--list"], "n": night(folder)}[place[0]]
    _, output = run(*verb)
    assert place.rsplit("/", 1)[-1] in output
    assert "Traceback" not in output
    assert "secret" not in output


def test_a_link_to_a_folder_elsewhere_is_not_followed(folder, outside):
    (folder / "perflogs/other").symlink_to(outside.parent)
    status, output = run("changes", folder)
    assert status == 3 and "secret" not in output
    assert f"{folder}/perflogs/other: a symbolic link out of {folder}" in output
    (folder / "perflogs/other").unlink()
    (folder / "perflogs").rename(outside.parent / "perflogs")
    (folder / "perflogs").symlink_to(outside.parent / "perflogs")
    status, output = run("compare", f"a={folder}", f"b={folder}")
    assert status == 1
    assert f"{folder}/perflogs: a symbolic link out of {folder}" in output


@pytest.mark.parametrize("column", ["placement", "session"])
def test_no_text_is_endless(column, tmp_path):
    path = write(
        tmp_path / "a.jsonl",
        [record(), record(1, **{column: "[" + "9," * 10_000_000 + "9]"})],
    )
    loaded = load(path)
    assert loaded.frame.height == 1
    assert f"{path}:2: " in loaded.faults[0]
    assert len(loaded.faults[0]) < 1000
