# SPDX-License-Identifier: BSD-3-Clause
"""`fabric-checks references`, up to a run of ReFrame that judges by what was proposed."""

import re
from functools import partial

import pytest

from fabric_checks.references import reference_file
from tests import builders, calling, sessions
from tests.conftest import GOLDEN, ROOT, TESTS
from tests.references.records import record, write
from tests.sessions import Run

LATENCY = GOLDEN / "osu-py/4.1.2/osu_latency.txt"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder of reference files, which the commands use."""
    folder = tmp_path / "references"
    folder.mkdir()
    (folder / "yours.yaml").write_text("no_reference:\n- {why: no values yet}\n")
    monkeypatch.setenv("RFM_REFERENCE_PREFIX", str(folder))
    reference_file.load.cache_clear()
    return folder


invoke = partial(calling.invoke, "references")


def test_a_proposal_is_a_difference_on_standard_output_and_a_report_beside_it(
    folder, tmp_path
):
    results = write(tmp_path / "results", [record(day) for day in range(6)])
    done = invoke("propose", results, "--system", "yours")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith(
        f"--- {folder}/yours.yaml\n+++ {folder}/yours.proposed.yaml\n"
    )
    assert (
        "+        latency_8B: [1.3, null, 0.02, us]  # from 6 passes in 6 runs"
        in done.stdout
    )
    counts, where = done.stderr.splitlines()
    assert counts == "1 series: 1 new"
    assert f"mv {folder}/yours.proposed.yaml {folder}/yours.yaml" in where
    assert "OsuLatency" not in (folder / "yours.yaml").read_text()
    assert "OsuLatency" in (folder / "yours.proposed.yaml").read_text()


def test_too_few_runs_propose_nothing_and_say_so(folder, tmp_path):
    results = write(tmp_path / "results", [record(day) for day in range(3)])
    done = invoke("propose", results, "--system", "yours")
    assert done.exit_code == 3 and done.stdout == ""
    line = "refused: OsuLatency %layout=2x1 @yours:compute+mpich-cray: latency_8B: 3 passes, but 5 are needed"
    assert done.stderr.splitlines() == [line, "1 series: 1 refused"]


def _played(results, number, playback, folder):
    """Run OsuLatency with the output of a file, and return ReFrame's status and the session."""
    done = Run(
        results, "-n", "OsuLatency", settings=TESTS / "playback/settings.py", suites=["osu/pt2pt.py"],
        name=f"2026010{number}T000000Z-test", PLAYBACK=str(playback), RFM_REFERENCE_PREFIX=str(folder),
    ).wait()  # fmt: skip
    return done.status, done.session


def test_proposed_references_judge_the_next_run(folder, tmp_path):
    (folder / "local.yaml").write_text(
        (ROOT / "config/references/local.yaml").read_text()
    )
    results = tmp_path / "results"
    status, first = _played(results, 1, LATENCY, folder)
    assert status == 0 and {each["reference"] for each in first.records} == {None}
    again = [
        each | {"session": f"again-{run}", "value": each["value"] * (1 + run / 1000)}
        for run in range(4)
        for each in first.records
    ]
    with (results / "perflogs/local/node/OsuLatency.jsonl").open("ab") as out:
        out.write(builders.text_of(*again))

    done = invoke("propose", results, "--system", "local")
    assert done.exit_code == 0, done.output
    (folder / "local.proposed.yaml").rename(folder / "local.yaml")
    reference_file.load.cache_clear()
    file = reference_file.load(folder / "local.yaml")
    entry = file.entries["OsuLatency"]["local:node"]["mpich"]["1x2"]
    assert set(entry) == {each["metric"] for each in first.records}
    assert len(file.reasons) == 1

    slower = tmp_path / "slower.txt"
    slower.write_text(
        re.sub(
            r"(?m)^(\s*1048576\s+)(\S+)",
            lambda m: f"{m[1]}{float(m[2]) * 1.5:.2f}",
            LATENCY.read_text(),
        )
    )
    status, missed = _played(results, 2, slower, folder)
    assert status == 1
    assert {each["metric"]: each["reference"] for each in missed.records} == {
        name: value[0] for name, value in entry.items()
    }
    assert [each["metric"] for each in missed.records if each["result"] == "fail"] == [
        "latency_1048576B"
    ]


def test_a_dry_run_says_what_is_wrong_with_a_file(folder, tmp_path):
    """An orphan, and a metric without reference and reason."""
    wrong = {
        "OsuLatency: {$index: [$partition, layout], local:nod: {1x2: {latency_0B: [1.3, null, 0.1, us]}}}": (
            "OsuLatency: local:nod: 1x2: there is no such partition here"
        ),
        "no_reference: [{why: x, check: 'Osu.*'}]": (
            "HotSpot on local:node with mpich, 1x2: send_growth has no reference"
        ),
    }
    for number, (text, fault) in enumerate(wrong.items()):
        (folder / "local.yaml").write_text(text)
        done = sessions.call(
            [sessions.REFRAME],
            tmp_path / str(number),
            *("--system", "local", "-n", "^HotSpot%layout=1x2$", "--dry-run"),
            RFM_REFERENCE_PREFIX=str(folder),
        )
        assert done.returncode == 1 and fault in done.stdout
