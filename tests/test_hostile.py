# SPDX-License-Identifier: BSD-3-Clause
"""Whatever is in results, every verb that reads them ends in order: what is bad is named, what is good is used."""

import json
import os
import re
import sqlite3

import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabric_checks.cli import ending
from fabric_checks.cli.main import cli
from fabric_checks.comparison import changes, history
from fabric_checks.core.errors import FabricError
from fabric_checks.nightly import retention
from fabric_checks.records import archiving, cost, series, validation
from fabric_checks.records.record import FIELDS
from fabric_checks.records.sources import Faults
from fabric_checks.references import propose
from fabric_checks.report import collecting
from tests.builders import load, record, write

NAME = record()["session"]
#: More than the statistics need, so that they have something to say.
RUNS = 8


def raw(text, field="findings"):
    """Return the line of a record with a piece of JSON text for a field's value, as nobody's writer would."""
    return json.dumps(record(**{field: "@"})).replace('"@"', text).encode() + b"\n"


def lacking(field):
    return {name: value for name, value in record().items() if name != field}


#: What a compared value comes from, but its values.
OF = {"metric": "x", "quantity": "x", "unit": "us"}
#: Bad lines, and what is said of each.
LINES = {
    "findings of texts": (record(findings=["x"]), "'findings' is"),
    "findings, a text": (record(findings="x"), "'findings' is 'x'"),
    "findings, an object": (record(findings={"text": "x"}), "'findings' is"),
    "findings without text": (record(findings=[{"kind": "x"}]), "'findings' is"),
    "findings whose text is none": (record(findings=[{"kind": "x", "text": 1}]), "'findings' is"),
    "findings whose hosts are none": (record(findings=[{"kind": "x", "text": "y", "hosts": 5}]), "'findings' is"),
    "findings whose fault is none": (record(findings=[{"kind": "x", "text": "y", "fault": "no"}]), "'findings' is"),
    "node_faults, a list": (record(node_faults=["n1"]), "'node_faults' is"),
    "findings of numbers": (record(findings=[1, 2]), "'findings' is"),
    "findings of null": (record(findings=[None]), "'findings' is"),
    "nodes, a text": (record(nodes="x"), "'nodes' is 'x', not an integer"),
    "nodes, a list": (record(nodes=[1]), "'nodes' is '[1]', not an integer"),
    "less than no nodes": (record(nodes=-1), "'nodes' is '-1', below zero"),
    "nodes, half of one": (record(nodes=0.5), "'nodes' is '0.5', not an integer"),
    "a negative size": (record(size_B=-8), "'size_B' is '-8', below zero"),
    "a link of less than nothing": (record(link_MBps=-1.0), "'link_MBps' is '-1.0', below zero"),
    "a link, a text": (record(link_MBps="fast"), "'link_MBps' is 'fast', not a finite number"),
    "about of two million": (record(about="t" * 2_000_000), "'about' is longer than 1048576 bytes"),
    "a truth of texts": (record(can_be_zero="no"), "'can_be_zero' is 'no', not true or false"),
    "a truth of numbers": (record(can_be_zero=1), "'can_be_zero' is '1', not true or false"),
    "a size beyond all": (raw(str(2**70), "size_B"), "'size_B' is"),
    "nodelist of numbers": (record(nodelist=[1, 2]), "'nodelist' is"),
    "nodelist, an object": (record(nodelist={"n1": 1}), "'nodelist' is"),
    "placement of lists": (record(placement=[["n1", 0]]), "'placement' is"),
    "not_offered, a list": (record(not_offered=["npb"]), "'not_offered' is"),
    "not_offered without reasons": (record(not_offered={"npb": None}), "'not_offered' is"),
    "parameters, a list": (record(parameters=["a"]), "'parameters' is"),
    "parameters of lists": (record(parameters={"a": [1]}), "'parameters' is"),
    "parameters of null": (record(parameters={"a": None}), "'parameters' is"),
    "sizes of texts": (record(sizes_B=["8"]), "'sizes_B' is"),
    "compared, a list": (record(compared=[1, 2]), "'compared' is"),
    "compared without unit": (record(compared={**OF, "unit": None, "values": {"1x1": 1}}), "'compared' is"),
    "compared without values": (record(compared=OF), "'compared' is"),
    "compared with texts": (record(compared={**OF, "values": {"1x1": "a"}}), "'compared' is"),
    "compared with a list": (record(compared={**OF, "values": [1, 2]}), "'compared' is"),
    # Python 3.14 reads ten thousand.
    "a hundred thousand brackets": (raw("[" * 100_000 + "]" * 100_000), "nested too deeply"),
    "a hundred thousand objects": (raw('{"a":' * 100_000 + "1" + "}" * 100_000), "nested too deeply"),
    "brackets never closed": (b"[" * 10_000 + b"\n", "not a JSON object"),
    "the year 0000": (record(time="0000-01-01T00:00:00+00:00"), "the time is not in the years 1970 to 2200"),
    "the year 0001": (record(time="0001-01-01T00:00:00+00:00"), "the time is not in the years 1970 to 2200"),
    "the year 1969": (record(time="1969-12-31T23:59:59+00:00"), "the time is not in the years 1970 to 2200"),
    "the year 2201": (record(time="2201-01-01T00:00:00+00:00"), "the time is not in the years 1970 to 2200"),
    "the year 9999": (record(time="9999-12-31T23:59:59-12:00"), "the time is not in the years 1970 to 2200"),
    "no time": (record(time=None), "the record has no 'time'"),
    "a time, an object": (record(time={"a": 1}), "is not of the form"),
    "a system of 300 characters": (record(system="s" * 300), "'system' is longer than 80 bytes"),
    "a name of ten million": (record(test="t" * 10_000_000), "'test' is longer than 1000 bytes"),
    "a text of two million": (record(mpi="t" * 2_000_000), "'mpi' is longer than 1048576 bytes"),
    "a system, a list": (record(system=["s"]), "where a name is expected"),
    "a session, an object": (record(session={"a": NAME}), "where a name is expected"),
    "no session": (record(session=None), "the record has no 'session'"),
    "no check": (lacking("check"), "the record has no 'check'"),
    "no format": (lacking("format"), "the record has no 'format'"),
    "another format": (record(format=99), "format '99' belongs to a different release"),
    "a value of 1e300": (record(value=1e300), "not a number up to 1e+30"),
    "a reference of 1e300": (record(reference=-1e300), "'reference' is '-1e"),
    "a reference, a text": (record(reference="fast"), "'reference' is 'fast', not a finite number"),
    "a bound, a list": (record(lower=[0]), "'lower' is '[0]', not a finite number"),
    "NaN": (raw("NaN", "value"), "NaN is not a JSON number"),
    "a number of 5000 digits": (raw("1" * 5000, "value"), "the line is left out"),
    "a metric without value": (record(value=None), "a metric but no value"),
    "an unknown unit": (record(unit="furlongs"), "unknown unit 'furlongs'"),
    "half a line": (json.dumps(record()).encode()[:200] + b"\n", "not a JSON object"),
    "a list": (b'["' + NAME.encode() + b'"]\n', "not a JSON object"),
    "binary": (bytes(range(11, 256)) + b"\n", "not a JSON object"),
    "another alphabet": (json.dumps(record(mpi="@")).encode().replace(b"@", b"\xff\xfe") + b"\n", "not UTF-8 text"),
}  # fmt: skip


def night(folder):
    return ["nightly", "--session", NAME, "--system", "s", "--archive", folder / "archive"]


#: The verbs: the arguments for a folder, the exit status when lines were left out, and the fields that are read of all
#: records; what a verb does not ask for is not looked at, and harms nobody.
VERBS = {
    "show": (lambda folder: ["show", "--results", folder, "--session", NAME], 1, FIELDS),
    "show as JSON": (lambda folder: ["show", "--results", folder, "--session", NAME, "--json"], 1, FIELDS),
    "show of records": (lambda folder: ["show", "--results", folder / "perflogs", "--session", NAME], 1, FIELDS),
    "history": (lambda folder: ["history", "latency_8B", folder, "--json"], 1, history.COLUMNS),
    "compare": (lambda folder: ["compare", f"a={folder}", f"b={folder}@2026-02-02.."], 1, series.COMPARED),
    "changes": (lambda folder: ["changes", folder], 1, changes.FIELDS),
    "report": (lambda folder: ["report", folder, "-o", folder / "report.html"], 1, collecting.COLUMNS),
    "archive": (lambda folder: ["archive", folder, folder / "kept"], 1, FIELDS),
    "cost": (lambda folder: ["show", "--cost", "--results", folder], 1, cost.COLUMNS),
    "references propose": (lambda folder: ["references", "propose", folder, "--system", "s"], 1, propose.COLUMNS),
    "nightly": (night, 0, FIELDS),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder of results with some good runs, each of which has its report and log."""
    monkeypatch.setenv("FABRIC_RESULTS", str(tmp_path))
    monkeypatch.setenv("RFM_REFERENCE_PREFIX", str(tmp_path / "references"))
    monkeypatch.setattr(retention, "DAYS", 20_000)  # the night's report is about the last three months
    return filled(tmp_path)


def filled(folder):
    for name in ("perflogs", "logs", "reports", "references"):
        (folder / name).mkdir(exist_ok=True)
    write(folder / "perflogs/s/p/Good.jsonl", [record(run) for run in range(RUNS)])
    case = {"name": "A", "display_name": "A %layout=1x2", "system": "s", "partition": "p", "environ": "e",
            "result": "pass", "fail_phase": None, "fail_reason": None, "fixture": False,
            "perfvalues": {"s:p:latency_8B": [1.5, 0, None, None, "us", "pass"]}}  # fmt: skip
    report = {
        "session_info": {"log_files": [f"/x/{NAME}.log"], "cmdline": "reframe -r"},
        "runs": [{"testcases": [case]}],
    }
    (folder / f"logs/{NAME}.log").write_text("")
    (folder / "reports/run-report-0.json").write_text(json.dumps(report, indent=2))
    return folder


def run(*arguments):
    """Run a verb; return its exit status and what it said, as a shell has it. Whatever else it raises is a fault."""
    done = CliRunner().invoke(cli, [str(each) for each in arguments])
    said = done.output
    if isinstance(done.exception, FabricError):
        said += f"error: {done.exception}\n"
    elif isinstance(done.exception, OSError):
        said += f"error: {done.exception.filename}: {done.exception.strerror}\n"
    elif done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, said


def faults(folder, said):
    """Return what was named; a night keeps the lines, as its summary has them with marks."""
    kept = folder / "nightly/s/known-warnings.json"
    lines = json.loads(kept.read_text()) if kept.exists() else said.splitlines()
    return [line.removeprefix("warning: ") for line in lines]


@pytest.mark.parametrize("verb", VERBS)
def test_bad_lines_cost_themselves_alone(verb, folder):
    """Each bad line is between good ones, in a file of its own."""
    arguments, bad_status, fields = VERBS[verb]
    good, files = [], {}
    for number, (name, (bad, _)) in enumerate(LINES.items()):
        around = [record(jobid=f"{number}{side}", metric=f"m{number}{side}") for side in "ab"]
        good += around
        files[name] = write(folder / f"perflogs/s/p/Bad{number}.jsonl", [around[0], bad, around[1]])
    status, said = run(*arguments(folder))
    assert status == bad_status, said
    told = faults(folder, said)
    for name, (_, cause) in LINES.items():
        lines = [line for line in told if line.startswith(f"{files[name]}:2: ")]
        # Of a field that is asked for, or of what makes a record; that of no session is not that of the one shown.
        field = re.match(r"'(\w+)'", cause)
        looked_at = fields and (field is None or field[1] in (*fields, *validation.ALWAYS))
        if looked_at and not (name == "no session" and verb in ("show", "show as JSON")):
            assert len(lines) == 1 and cause in lines[0] and len(lines[0]) < 1000, (name, lines, said)
    if verb == "show as JSON":
        shown = json.loads(CliRunner().invoke(cli, list(map(str, arguments(folder)))).stdout)
        assert {each["metric"] for each in good} < {each["metric"] for each in shown}
    if verb == "archive":
        assert len(list(archiving.export(folder / "kept", Faults()))) == RUNS + len(good)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=8)
    | st.sampled_from(["x", "1x1", "2x", "n1:0", "9999-12-31T00:00:00Z", NAME, "latency_8B", "%", "smaller", "fail"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["kind", "text", "hosts", "values", "metric"]) | st.text(max_size=4), inner),
    max_leaves=6,
)  # fmt: skip
mutated = st.builds(
    lambda run, fields: record(run) | fields,
    st.integers(0, RUNS),
    st.dictionaries(st.sampled_from(sorted(set(FIELDS) - {"format"})), anything, min_size=1, max_size=3),
)


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb not in ("nightly", "report")])
@settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
@given(bad=st.lists(mutated, min_size=5, max_size=20))
def test_whatever_fields_have_in_them(verb, tmp_path_factory, bad):
    folder = filled(tmp_path_factory.mktemp("mutated"))
    write(folder / "perflogs/s/p/Bad.jsonl", bad)
    status, said = run(*VERBS[verb][0](folder))
    assert status in (0, 1) and "Traceback" not in said


@settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
@given(bad=st.lists(mutated, min_size=5, max_size=20))
def test_whatever_fields_have_in_them_there_is_one_screen(tmp_path_factory, bad):
    folder = filled(tmp_path_factory.mktemp("mutated"))
    write(folder / "perflogs/s/p/Bad.jsonl", bad)
    status, said = run("show", "--short", "--results", folder, "--session", NAME)
    assert status in (0, 1) and "Traceback" not in said and len(said.splitlines()) <= 60


@pytest.mark.parametrize("verb", ["report", "nightly"])
@settings(deadline=None, max_examples=4, suppress_health_check=list(HealthCheck))
@given(bad=st.lists(mutated, min_size=20, max_size=60))
def test_whatever_fields_have_in_them_where_pictures_are_drawn(verb, tmp_path_factory, bad):
    folder = filled(tmp_path_factory.mktemp("mutated"))
    write(folder / "perflogs/s/p/Bad.jsonl", bad)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FABRIC_RESULTS", str(folder))
        patch.setattr(retention, "DAYS", 20_000)
        status, said = run(*VERBS[verb][0](folder))
    assert status in (0, 1, 3) and "Traceback" not in said


CASE = {"name": "A", "system": "s", "partition": "p", "environ": "e", "result": "pass", "fixture": False}
INFO = {"log_files": [f"/x/{NAME}.log"], "cmdline": "reframe"}


def report_of(cases, **info):
    return json.dumps({"session_info": INFO | info, "runs": cases}, indent=2)


#: Run reports, and what is said of each.
REPORTS = {
    "cut": (report_of([{"testcases": [CASE] * 50}])[:2000], "not a complete run report (line"),
    "empty": ("", "a run report that does not name its run"),
    "a list": ("[]", "a run report that does not name its run"),
    "brackets": (json.dumps({"session_info": INFO}, indent=2)[:-1] + ', "runs": ' + "[" * 100_000, "nested too deeply"),
    "brackets alone": ("[" * 100_000, "a run report that does not name its run"),
    "log files of numbers": (report_of([], log_files=[1, None]), "does not name its run"),
    "log files with NUL": (report_of([], log_files=["\0"]), "does not name its run"),
    "no runs": (json.dumps({"session_info": INFO}, indent=2), "it has no list 'runs'"),
    "runs of texts": (report_of(["x"]), "run 1 has no list 'testcases'"),
    "cases of texts": (report_of([{"testcases": ["x", CASE]}]), "run 1, case 1: not a JSON object"),
    "a case without name": (report_of([{"testcases": [CASE, CASE | {"name": None}]}]), "case 2: it has no name"),
    "a system, a list": (report_of([{"testcases": [CASE | {"system": []}]}]), "'system' is '[]' where text is"),
    "a result, null": (report_of([{"testcases": [CASE | {"result": None}]}]), "'result' is 'None' where text is"),
    "a reason, an object": (report_of([{"testcases": [CASE | {"fail_reason": {}}]}]), "'fail_reason' is '{}'"),
    "values of texts": (report_of([{"testcases": [CASE | {"perfvalues": {"a": "x"}}]}]), "not an object of lists"),
    "values without value": (report_of([{"testcases": [CASE | {"perfvalues": {"a": []}}]}]), "not an object of lists"),
    "a command, a list": (report_of([{"testcases": []}], cmdline=[1]), "no case ran"),
}


@pytest.mark.parametrize("name", REPORTS)
def test_run_reports(name, folder, capsys):
    """What is wrong with a report is named, and the records are shown all the same."""
    text, cause = REPORTS[name]
    path = folder / "reports/run-report-0.json"
    path.write_text(text)
    status, said = run("show", "--results", folder, "--session", NAME, "--gate")
    # Of a report that does not say whose it is, another run is not blamed.
    nameless = "not name its run" in cause
    assert status == 1 and "latency_8B" in said
    assert ("ReFrame ended before it could write its report" if nameless else cause) in said
    status, said = run("show", "--results", folder, "--list")
    assert NAME in said and status == (0 if cause == "no case ran" else 1), said
    assert len([line for line in said.splitlines() if line.startswith(f"warning: {path}: ")]) == status
    status, said = run(*night(folder))
    assert status == 1 and "the night failed" in said
    ending.end(folder, NAME, 0.0)
    assert len(capsys.readouterr().out.splitlines()) <= 60


def test_the_latest_run_is_not_shown_as_if_a_broken_report_were_none(folder):
    (folder / "reports/run-report-1.json").write_text("")
    status, said = run("show", "--results", folder)
    assert status == 1
    assert f"warning: {folder}/reports/run-report-1.json: a run report that does not name its run" in said


@pytest.mark.parametrize(
    "line",
    [
        b"[" * 10_000,
        b'{"session": "x", "ended": true, "findings": ["x"]}',
        b'{"session": "x", "ended": true, "findings": "x"}',
        b'{"session": "x", "ended": true, "measured": 5}',
        b'{"session": ["x"], "ended": true}',
        b'{"session": "x", "ended": "yes"}',
        b'{"session": "x", "ended": true, "findings": [{"title": "", "details": 5, "keys": [], "cases": []}]}',
    ],
)
def test_lines_of_a_journal(line, folder):
    path = folder / "nightly/s/nights.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(line + b"\n")
    status, said = run(*night(folder))
    assert status == 0 and "not a line of a journal: " in said and "Traceback" not in said


def pipe(path, outside):
    os.mkfifo(path)


def zero(path, outside):
    path.symlink_to("/dev/zero")


def link(path, outside):
    path.symlink_to(outside)


def loop(path, outside):
    path.symlink_to(path.name)


KINDS = {
    pipe: "not a regular file",
    zero: "not a regular file",
    link: "a symbolic link out of",
    loop: "Too many levels",
}


@pytest.fixture
def outside(tmp_path_factory):
    """Return a file of the reader, with a record of its own."""
    return write(tmp_path_factory.mktemp("reader") / "own.jsonl", [record(3, metric="secret")])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "show of records"])
def test_what_is_no_file_of_the_folder_is_refused(verb, kind, folder, outside):
    kind(folder / "perflogs/s/p/Z.jsonl", outside)
    status, said = run(*VERBS[verb][0](folder))
    assert status == VERBS[verb][1]
    (line,) = [line for line in faults(folder, said) if line.startswith(f"{folder}/perflogs/s/p/Z.jsonl: ")]
    assert KINDS[kind] in line and "secret" not in said


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", ["reports/run-report-9.json", "nightly/s/nights.jsonl"])
def test_nor_is_it_among_reports_and_journals(place, kind, folder, outside):
    (folder / place).parent.mkdir(parents=True, exist_ok=True)
    kind(folder / place, outside)
    verb = {"r": ["show", "--results", folder, "--list"], "n": night(folder)}[place[0]]
    _, said = run(*verb)
    assert place.rsplit("/", 1)[-1] in said and "Traceback" not in said and "secret" not in said


def test_a_link_to_a_folder_elsewhere_is_not_followed(folder, outside):
    (folder / "perflogs/other").symlink_to(outside.parent)
    status, said = run("history", ".*", folder, "--json")
    assert status == 1 and "secret" not in said and f"{folder}/perflogs/other: a symbolic link out of {folder}" in said
    (folder / "perflogs/other").unlink()
    (folder / "perflogs").rename(outside.parent / "perflogs")
    (folder / "perflogs").symlink_to(outside.parent / "perflogs")
    status, said = run("compare", f"a={folder}", f"b={folder}")
    assert status == 1 and f"{folder}/perflogs: a symbolic link out of {folder}" in said


def test_a_link_within_a_folder_is_followed(folder):
    (folder / "perflogs/s/p/Good.jsonl").rename(folder / "kept.jsonl")
    (folder / "perflogs/s/p/Good.jsonl").symlink_to(folder / "kept.jsonl")
    assert load(folder).frame.height == RUNS


@pytest.mark.parametrize("name", ["ar[1]", "ar*x", "ar?x", "a b", "a{b,c}", "ar\\x"])
def test_the_path_of_an_archive_is_a_path(name, folder, tmp_path):
    write(tmp_path / "more/a.jsonl", [record(40)])
    (tmp_path / "arZx").mkdir()
    assert run("archive", folder, tmp_path / "arZx")[0] == 0  # what a pattern would find, too
    assert run("archive", folder, tmp_path / name)[0] == 0
    status, said = run("archive", tmp_path / "more", tmp_path / name)
    assert status == 0 and "1 records added" in said, said
    assert load(tmp_path / name).frame.height == RUNS + 1


def test_rows_of_an_archive_that_are_none(folder, tmp_path):
    """Whoever wrote the archive: its rows are looked at as lines are."""
    run("archive", folder, tmp_path / "kept")
    (path, *_) = sorted((tmp_path / "kept").rglob("*.parquet"))
    table = pl.read_parquet(path)
    bad = [
        pl.lit(253_402_300_800_000_000).cast(pl.Datetime("us", "UTC")).alias("time"),  # the year 10000
        pl.lit("[1]").alias("findings"),
        pl.lit("x").alias("nodelist"),
        pl.lit(float("nan")).alias("value"),
        pl.lit("t" * 2000).alias("test"),
        pl.lit("[]").alias("extra"),
        pl.lit(None, pl.String).alias("system"),
    ]
    pl.concat([table, *(table.head(1).with_columns(each) for each in bad)]).write_parquet(path)
    loaded = load(tmp_path / "kept")
    assert loaded.frame.height == RUNS + 1  # of a field that is not there
    assert len(loaded.faults) == 6 and f"{path}:{table.height + 1}: the time is not in the years" in loaded.faults[0]
    status, said = run("archive", "--export", tmp_path / "kept")
    assert status == 1 and said.count("the row is left out") == 5 and "and 2 more lines" in said


def test_more_rows_than_a_file_can_have(tmp_path):
    run("archive", write(tmp_path / "a.jsonl", [record()]), tmp_path / "kept")
    (path,) = (tmp_path / "kept").rglob("*.parquet")
    one = pl.read_parquet(path)
    one[[0] * 200_000].write_parquet(path, compression="zstd", row_group_size=200_000)
    status, said = run("changes", tmp_path / "kept")
    assert status == 1 and said.count("\n") == 1 and "200000 rows in" in said


def database(path, table, *rows):
    with sqlite3.connect(path) as made:
        made.execute(table)
        if rows:
            made.executemany("INSERT INTO sessions(uuid, session_start_unix, json_blob) VALUES(?, 1, ?)", rows)
    return path


TABLE = "CREATE TABLE sessions(uuid TEXT, session_start_unix REAL, json_blob TEXT)"
FOREIGN = CASE | {
    "perfvalues": {"s:p:speed": [12.5, 0, None, None, "furlongs", "pass"]}, "job_completion_time_unix": 1.8e9,
}  # fmt: skip
ENDLESS = (
    "CREATE VIEW sessions AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
    "SELECT i AS uuid, i AS session_start_unix, '{}' AS json_blob FROM n"
)
COMPUTED = "CREATE TABLE sessions(uuid TEXT, session_start_unix REAL, json_blob TEXT AS (zeroblob(1000000000)))"


def told(*cases):
    return json.dumps({"session_info": {"version": "4.10"}, "runs": [{"testcases": list(cases)}]})


@pytest.mark.parametrize("table", [ENDLESS, COMPUTED])
def test_sessions_that_are_computed(table, tmp_path):
    status, said = run("changes", database(tmp_path / "results.db", table))
    assert status == 1 and "'sessions' is not a plain table" in said and said.count("\n") == 1


def test_a_database_of_others_without_references(tmp_path):
    bad = [FOREIGN | {"job_completion_time_unix": 1e18}, FOREIGN | {"name": []}, {}, FOREIGN | {"perfvalues": [1]}]
    rows = [("a", told(FOREIGN, *bad)), ("b", b"\xff"), ("c", "[" * 100_000), ("d", 5), (None, "{}")]
    path = database(tmp_path / "results.db", TABLE, *rows)
    status, said = run("show", "--results", path, "--session", "a")
    assert status == 1 and "speed" in said and "no reference" in said and "Traceback" not in said
    loaded = load(path)
    assert loaded.frame["metric"].to_list() == ["speed"] and all(line.startswith(f"{path}:") for line in loaded.faults)


@pytest.mark.parametrize("column", ["mpi", "placement", "session"])
def test_no_text_is_endless(column, tmp_path):
    path = write(tmp_path / "a.jsonl", [record(), record(1, **{column: "[" + "9," * 10_000_000 + "9]"})])
    loaded = load(path)
    assert loaded.frame.height == 1 and f"{path}:2: " in loaded.faults[0] and len(loaded.faults[0]) < 1000
