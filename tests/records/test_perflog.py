# SPDX-License-Identifier: BSD-3-Clause
"""The perflog's writer: whole lines, whatever happens."""

import fcntl
import json
import logging
import multiprocessing
import os
import resource
import signal

import pytest

from fabric_checks.core import locks
from fabric_checks.core.errors import RecordError
from fabric_checks.records import jsonlines, perflog, writing
from fabric_checks.records.record import FIELDS, Case, Facts, Judgement, MetricFacts
from tests.builders import load, record, write


def attributes(**changes):
    """Return what ReFrame logs about a case with two metrics."""
    return {
        "version": "4.10.4", "created": 1.0e9, "check_system": "s", "check_partition": "p",
        "check_environ": "e", "check_display_name": "A %layout=1x2", "check_result": "pass",
        "check_fail_reason": None, "check_job_nodelist": ["n1"], "check_jobid": 7,
        "check_perfvalues": {
            "s:p:t": [1.5, 1.0, None, 0.9, "us", "pass"],
            "s:p:b": [9.0, 0, None, None, "MB/s", "pass"],
        },
        "check_facts": {
            "check": "A", "session": "x", "layout": "1x2",
            "metrics": {
                "t": {"quantity": "t", "size_B": None, "better": "smaller"},
                "b": {"quantity": "b", "no_reference": "why not"},
            },
        },
    } | changes  # fmt: skip


def test_one_record_a_metric_with_everything_there_is_to_know():
    time, bandwidth = perflog.records_of(attributes())
    assert tuple(time) == FIELDS
    assert time["metric"] == "t"
    assert time["value"] == 1.5
    assert time["reference"] == 1.0
    assert time["upper"] == 0.9
    assert time["no_reference"] is None
    assert bandwidth["reference"] is None
    assert bandwidth["no_reference"] == "why not"
    assert time["nodelist"] == ["n1"]


def test_no_two_parts_of_a_record_have_a_field_of_one_name():
    names = [
        name
        for part in (Case, Facts, Judgement, MetricFacts)
        for name in part.__slots__
    ]
    assert (
        len(names) == len(set(names)) == len(FIELDS) - 1
    )  # without metrics, with format and case


def test_the_nodes_are_those_that_the_ranks_saw():
    """Accounting may know only the first node of a job that has just ended."""
    facts = attributes()["check_facts"] | {"nodelist": ["n1", "n2"]}
    assert perflog.records_of(attributes(check_facts=facts))[0]["nodelist"] == [
        "n1",
        "n2",
    ]


@pytest.mark.parametrize(
    "result, folder", [("pass", "output"), ("fail", "stage"), ("xfail", "stage")]
)
def test_a_record_names_the_folder_that_has_the_files(result, folder):
    facts = attributes()["check_facts"] | {"output": "output/x/s/p/e/A_1"}
    for each in perflog.records_of(attributes(check_facts=facts, check_result=result)):
        assert each["output"] == f"{folder}/x/s/p/e/A_1"


def test_a_case_without_values_leaves_one_record_that_says_why():
    values = {"s:p:t": [None, 0, None, None, "us", None]}
    (record,) = perflog.records_of(
        attributes(
            check_perfvalues=values, check_result="fail", check_fail_reason="broken"
        )
    )
    assert record["metric"] is None
    assert record["case_result"] == "fail"
    assert record["fail_reason"] == "broken"
    # Nobody took its time: it is that of the log.
    assert record["time"] == "2001-09-09T01:46:40+00:00"
    values |= {"s:p:b": [9.0, 0, None, None, "MB/s", "pass"]}
    assert [
        each["metric"]
        for each in perflog.records_of(attributes(check_perfvalues=values))
    ] == ["b"]


def test_the_handler_writes_where_it_says(tmp_path):
    handler = perflog.JsonLinesHandler(tmp_path)
    handler.emit(logging.makeLogRecord(attributes()))
    line = json.loads((tmp_path / "s/p/A.jsonl").read_text())
    assert line["time"] == "2001-09-09T01:46:40+00:00"
    assert line["environ"] == "e"
    assert line["nodelist"] == ["n1"]
    value = {
        "metric": "t",
        "value": 1.5,
        "reference": 1.0,
        "upper": 0.9,
        "result": "pass",
    }
    assert line["metrics"] == [
        {"unit": "us", "quantity": "t", "better": "smaller", "values": [value]},
        {
            "unit": "MB/s",
            "quantity": "b",
            "no_reference": "why not",
            "values": [{"metric": "b", "value": 9.0}],
        },
    ]


def test_a_failed_write_is_an_error_that_names_file_and_cause(tmp_path):
    (tmp_path / "s").write_text("a file where a folder has to be\n")
    with pytest.raises(
        RecordError,
        match=f"^{tmp_path}/s/p/A.jsonl: Not a directory: 2 records are not in the perflog",
    ):
        perflog.JsonLinesHandler(tmp_path).emit(logging.makeLogRecord(attributes()))


def test_an_infinite_value_is_an_error_that_names_the_file(tmp_path):
    values = {"s:p:t": [float("inf"), 1.0, None, 0.9, "us", "pass"]}
    with pytest.raises(
        RecordError,
        match=r"s/p/A.jsonl: Out of range float .*: 1 record is not in the perflog of A ",
    ):
        perflog.JsonLinesHandler(tmp_path).emit(
            logging.makeLogRecord(attributes(check_perfvalues=values))
        )
    assert not list(tmp_path.rglob("*.jsonl"))


def test_a_line_that_a_crash_left_unfinished_stays_alone(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"whole": 1}\n{"cut":')
    perflog.append(path, {"new": 1})
    assert path.read_text() == '{"whole": 1}\n{"cut":\n{"new":1}\n'


def _write_many(path, writer):
    for number in range(50):
        perflog.append(
            path, {"writer": writer, "number": number, "padding": "x" * 10_000}
        )


def test_sixteen_writers_at_once_lose_and_mix_nothing(tmp_path):
    path = tmp_path / "a.jsonl"
    writers = [
        multiprocessing.Process(target=_write_many, args=(path, writer))
        for writer in range(16)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(records) == 16 * 50
    for writer in range(16):
        assert [r["number"] for r in records if r["writer"] == writer] == [*range(50)]


def test_who_may_read_it_cannot_stop_its_writers(tmp_path):
    path = tmp_path / "a.jsonl"
    perflog.append(path, {"first": 1})
    assert (tmp_path / ".lock").stat().st_mode & 0o777 == 0o600
    with path.open() as reader:
        fcntl.flock(reader, fcntl.LOCK_EX)
        perflog.append(path, {"second": 2})
    assert path.read_text() == '{"first":1}\n{"second":2}\n'


def test_a_line_that_is_being_written_is_read_with_the_next_look(tmp_path, monkeypatch):
    """A reader that finds the file locked waits, and does not take half of a line."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"first": 1}\n{"sec')
    rest = [b"ond", b'": 2}\n']
    with path.open("ab", buffering=0) as writer, path.open("rb") as reader:
        fcntl.flock(writer, fcntl.LOCK_EX)

        def written(_):
            writer.write(rest.pop(0))
            if not rest:
                fcntl.flock(writer, fcntl.LOCK_UN)

        monkeypatch.setattr(jsonlines.time, "sleep", written)
        assert jsonlines._settled_size(reader.fileno()) == len(
            b'{"first": 1}\n{"second": 2}\n'
        )


def test_a_writer_that_waits_too_long_says_for_whom(tmp_path, monkeypatch):
    monkeypatch.setattr(perflog, "WRITER_WAIT_S", 0)
    handler = perflog.JsonLinesHandler(tmp_path)
    (tmp_path / "s/p").mkdir(parents=True)
    with locks.exclusive(tmp_path / "s/p/.lock", 0):
        why = (
            rf"A.jsonl: .*/s/p/.lock: locked by process {os.getpid()} of .*: 2 records are not in the perflog"
            r" of A %l"
        )
        with pytest.raises(RecordError, match=why):
            handler.emit(logging.makeLogRecord(attributes()))
    assert not list(tmp_path.rglob("*.jsonl"))


def test_a_full_disk_is_an_error_and_leaves_whole_lines(tmp_path):
    path = tmp_path / "a.jsonl"
    perflog.append(path, {"first": 1})
    child = os.fork()
    if child == 0:
        # The limit on a file's size stands for the disk: the write stops half-way.
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        try:
            perflog.append(path, {"padding": "x" * 1000})
        except OSError:
            os._exit(7)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7
    assert path.read_text() == '{"first":1}\n'


def _die_in_the_middle(path, line, share):
    real = os.write

    def half(descriptor, data):
        real(descriptor, data[: int(len(data) * share)])
        os.kill(os.getpid(), signal.SIGKILL)

    os.write = half
    perflog.append(path, line)


@pytest.mark.parametrize("share", [0.001, 0.5, 0.99])
def test_a_kill_in_the_middle_of_a_write_leaves_every_earlier_line(share, tmp_path):
    path = write(tmp_path / "a.jsonl", [record(0), record(1)])
    line = writing.line_of([record(2, metric=f"m{n}") for n in range(40)])
    writer = multiprocessing.Process(
        target=_die_in_the_middle, args=(path, line, share)
    )
    writer.start()
    writer.join()
    assert writer.exitcode == -signal.SIGKILL
    loaded = load(path)
    assert loaded.frame.height == 2
    assert len(loaded.faults) == 1
    assert f"{path}:3: half-written, as after a crash" in loaded.faults[0]
    # The next writer's lines are whole, and the cut one is still the only that is lost.
    perflog.append(path, writing.line_of([record(3)]))
    after = load(path)
    assert after.frame.height == 3
    assert len(after.faults) == 1
    assert after.faults[0].startswith(f"{path}:3: not a JSON object")
