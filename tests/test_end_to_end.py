# SPDX-License-Identifier: BSD-3-Clause
"""Whole sessions: the real reframe, launcher, MPI and probe, with outputs that are healthy and ones that are
not."""

import os
import re
import socket

import pytest

from fabric_checks.records.record import FIELDS
from tests import sessions
from tests.conftest import GOLDEN, TESTS

LATENCY = GOLDEN / "osu-py/4.1.2/osu_latency.txt"


@pytest.fixture
def run(tmp_path):
    of = {"settings": TESTS / "playback/settings.py", "suites": ["osu"]}
    return lambda *arguments, **options: sessions.Run(
        tmp_path, *arguments, **(of | options)
    ).wait()


def test_a_healthy_session_leaves_records_that_can_be_believed(run, tmp_path):
    done = run("-n", "OsuLatency", PLAYBACK=str(LATENCY))
    assert done.status == 0, done.output
    assert done.gate == 0, done.shown
    assert len(done.session.records) == 24
    for record in done.session.records:
        assert tuple(record) == FIELDS
        # Of what Spack built, of comparisons, of simulated systems, and of containers.
        elsewhere = {
            "spec",
            "spec_hash",
            "spack",
            "compared",
            "evidence",
            "reference_source",
        }
        elsewhere |= {"container", "image", "image_digest"}
        # Or not there: no byte may have left this machine.
        maybe = {
            "reference",
            "lower",
            "upper",
            "fail_reason",
            "not_offered",
            "findings",
            "link_MBps",
            "headline",
        }
        maybe |= {
            "node_faults",
            "ports",
            "limits",
        }  # of jobs that lacked nodes, of several nodes, of all pairs
        for key in set(FIELDS) - maybe - elsewhere:
            assert record[key] not in (None, "", []), key
        assert {record[key] for key in elsewhere} == {None}
    first = done.session.records[0]
    assert (tmp_path / first["output"] / "rfm_job.out").is_file()
    assert first["job_state"] == "SUCCESS" and first["job_began"] <= first["time"]
    expected = {
        "metric": "latency_0B", "quantity": "latency", "size_B": 0, "unit": "us", "better": "smaller",
        "result": "pass", "program": "osu-py", "stack": "playback", "layout": "1x2", "tasks": 2,
        "system": "local", "partition": "node", "environ": "mpich", "check": "OsuLatency",
        "session": sessions.NAME,
        "no_reference": "local is any one machine: its values are recorded, not judged",
    }  # fmt: skip
    assert {key: first[key] for key in expected} == expected
    assert first["value"] == float(LATENCY.read_text().splitlines()[2].split()[1])
    assert first["mpi"].startswith("MPICH Version:")
    assert first["compiler"].startswith("gcc")
    assert len(first["placement"]) == 2
    # In a container, or under taskset, this looks like a binding.
    everywhere = len(os.sched_getaffinity(0)) == os.sysconf("SC_NPROCESSORS_ONLN")
    assert (first["binding"] == "none") == everywhere
    assert first["sizes_B"][0] == 0 and first["sizes_B"][-1] == 4194304
    assert "1 of 1 case passed" in done.shown and "24 values" in done.shown, done.shown[
        -900:
    ]
    assert "no references (" in done.shown


def test_a_cut_output_and_that_of_another_program_fail_and_say_so(run, tmp_path):
    cut = tmp_path / "cut.txt"
    cut.write_text("".join(LATENCY.read_text().splitlines(keepends=True)[:9]))
    names = "OsuLatency|ImbPointToPoint.*PingPong"
    done = run("-n", names, suites=["osu", "imb"], PLAYBACK=str(cut))
    assert done.status == 1
    assert done.gate == 3
    missing = "the last 17 of 24 rows are missing"
    for cause in (
        f"rfm_job.out: {missing}, from size_B 64 on",
        "no line '# Intel(R) MPI Benchmarks': the program did not start",
    ):
        assert [cause in reason for reason in done.reasons].count(True) == 1, cause
    assert missing in done.shown


def test_a_missing_program_is_named(run):
    missing = "/nonexistent/osu_latency"
    own = {"PLAYBACK_OSU": "7.4", "PLAYBACK_CORES": "4"}
    done = run("-n", "OsuLatency", PLAYBACK_COMMAND=missing, **own)
    assert done.status == 1
    (reason,) = done.reasons
    assert "the program ended with exit status" in reason and missing in reason


def test_a_skipped_case_is_listed_with_its_reason_and_no_failure(run, tmp_path):
    program = tmp_path / "programs/osu_barrier"
    program.parent.mkdir()
    play = TESTS / "playback/play.sh"
    program.write_text(f"#!/bin/sh\nexec sh {play} {GOLDEN}/osu/7.4/osu_barrier.txt\n")
    program.chmod(0o755)
    own = {
        "PLAYBACK_OSU": "7.4",
        "PLAYBACK_CORES": "2",
        "PLAYBACK_COMMAND": f"{program.parent}/{{benchmark}}",
    }
    done = run("-n", "OsuBarrier%layout=1x2|OsuLatency%layout=1x2", **own)
    assert f"1 case skipped: not in {program.parent}" in done.shown
    assert done.gate == 0, done.shown


def test_ranks_that_did_not_start_fail(run):
    """Without a parallel launcher there is one rank where two were asked for."""
    done = run("-n", "OsuLatency", PLAYBACK=str(LATENCY), PLAYBACK_LAUNCHER="local")
    assert done.status == 1
    assert (
        "placement: 1 rank ran in place of 2; see whether the launcher is that of this MPI: rank 0 on"
        in done.reasons[0]
    )


def test_two_ranks_on_one_core_fail_and_the_map_is_printed(run):
    cpu = min(os.sched_getaffinity(0))
    done = run(
        "-n", "OsuLatency", before=["taskset", "-c", str(cpu)], PLAYBACK=str(LATENCY)
    )
    assert done.status == 1
    (reason,) = done.reasons
    on = rf"on {socket.gethostname()} \(cpus {cpu}\)"
    assert re.search(
        rf"placement: on \S+ 2 ranks share fewer than 2 cores; check the launcher's binding: rank 0 {on},"
        rf" rank 1 {on}",
        reason,
    ), reason
    assert "2 ranks share fewer than 2 cores" in done.shown
    # Where the ranks were is recorded all the same.
    (record,) = done.session.records
    assert record["binding"] in ("core", str(cpu)) and record["case_result"] == "fail"


def test_two_ranks_on_a_core_each_pass_and_are_recorded(run):
    """Bound by the launcher; a machine may not tell which core a CPU is on."""
    done = run("-n", "OsuLatency", PLAYBACK=str(LATENCY), HYDRA_BINDING="core")
    assert done.status == 0, done.output
    assert {record["binding"] for record in done.session.records} == {"core"}


REFERENCE = """
OsuLatency:
  $index: [$partition, $environ, layout]
  local:node:
    mpich:
      1x2:
        latency_0B: [{value}, null, 0.1, us]
no_reference:
- {{metric: 'latency_[1-9].*', why: only the zero-byte latency is judged}}
"""


def test_a_wrong_reference_file_fails_loudly(run, tmp_path):
    """Once as a session; whatever else can be wrong is in tests/reframe_ext/test_references.py."""
    (tmp_path / "local.yaml").write_text(
        REFERENCE.format(value=1e9).replace("us]", "ms]")
    )
    done = run(
        "-n", "OsuLatency", PLAYBACK=str(LATENCY), RFM_REFERENCE_PREFIX=str(tmp_path)
    )
    assert done.status == 1, done.output
    assert "latency_0B is in us, but its reference is in ms" in done.reasons[0]
    assert "\n" not in done.reasons[0].strip()
    # The values are there nevertheless.
    assert (
        len([record for record in done.session.records if record["value"] is not None])
        == 24
    )
    assert "the reference file is wrong" in done.session.records[0]["no_reference"]


def test_a_reference_judges(run, tmp_path):
    (tmp_path / "local.yaml").write_text(REFERENCE.format(value=1e9))
    met = run(
        "-n", "OsuLatency", PLAYBACK=str(LATENCY), RFM_REFERENCE_PREFIX=str(tmp_path)
    )
    assert (met.status, met.gate) == (0, 0), met.output
    assert met.session.records[0]["reference"] == 1e9
    assert (
        met.session.records[1]["no_reference"] == "only the zero-byte latency is judged"
    )

    (tmp_path / "local.yaml").write_text(REFERENCE.format(value=1e-3))
    missed = run(
        "-n", "OsuLatency", PLAYBACK=str(LATENCY), RFM_REFERENCE_PREFIX=str(tmp_path)
    )
    assert missed.status == 1
    assert missed.gate == 3
    assert "latency_0B=" in missed.reasons[0]
    # The values of a case that missed its reference are still on record.
    late = [
        record for record in missed.session.records if record["case_result"] == "fail"
    ]
    assert [record["result"] for record in late[:2]] == ["fail", "pass"]


def test_a_session_without_a_case_is_no_success(run):
    done = run("-n", "NoSuchCheck", PLAYBACK=str(LATENCY))
    assert done.status == 0  # this is what reframe says
    assert done.gate == 1
    assert "no case ran" in done.shown


def test_a_check_that_cannot_be_loaded_is_no_success(run, tmp_path):
    """ReFrame goes on without it, with a warning."""
    (tmp_path / "broken.py").write_text(
        "import reframe as rfm\nimport nothing_of_that_name\n"
    )
    done = run("-c", tmp_path / "broken.py", "-n", "OsuLatency", PLAYBACK=str(LATENCY))
    assert "skipping test file" in done.output
    assert done.gate == 1
    assert "skipping test file" in done.shown


def test_a_perflog_that_cannot_be_written_is_no_success(run, tmp_path):
    (tmp_path / "perflogs").write_text("a file where a folder has to be\n")
    done = run("-n", "OsuLatency", PLAYBACK=str(LATENCY))
    assert done.status == 1
    assert done.gate == 1
    (reason,) = done.reasons
    assert (
        f"{tmp_path}/perflogs/local/node/OsuLatency.jsonl: Not a directory: 24 records are not in the"
        in reason
    )
    assert "not in the perflog: 24 of 24 metrics of OsuLatency" in done.shown
