# SPDX-License-Identifier: BSD-3-Clause
"""The commands: plan, status with its count of sessions, verdict, both signatures, and the check by the other
side."""

import json
import subprocess
from unittest import mock

import pytest

from fabric_checks.core.errors import FabricError, RecordError
from fabric_checks.references import cases
from fabric_checks.references.cases import Case
from fabric_offers.acceptance import run_plan, session_records
from fabric_offers.acceptance.clauses import ClauseError
from tests.builders import write, write_session
from tests.calling import invoke
from tests.offers import offers
from tests.offers.acceptance.made import CLAUSE, contract, failed, run

PAIRS = {
    "name": "pairs",
    "check": "Rotate",
    "over": "pairs",
    "good": 0.95,
    "bad": 0.9,
    "spread": 0.02,
}


def results(folder, *runs):
    """Write a folder of results with a session for each run that is not there yet."""
    for number, each in enumerate(runs):
        write_session(folder, [], session=each["session"], number=number)
    write(folder / "perflogs/A.jsonl", list(runs))
    return folder


def accept(*words):
    done = invoke("offers", "accept", *words)
    if isinstance(done.exception, FabricError):
        raise done.exception
    return done.exit_code, done.output


@pytest.mark.parametrize("value, status, word", [(101, 0, "met"), (88, 3, "violated")])
def test_status_and_exit_status_are_those_of_the_contract(
    tmp_path, value, status, word
):
    given = contract(tmp_path).path
    folder = results(tmp_path / "r", run(0, value), run(1, value))
    code, text = accept("status", given, folder)
    assert code == 4
    assert "open" in text
    assert "2 sessions counted" in text
    results(folder, *(run(day, value) for day in range(3)))
    code, text = accept("status", given, folder, "--json")
    assert code == status
    assert json.loads(text)[0]["verdict"] == word
    assert json.loads(text)[0]["left"] == 0


def test_a_session_that_was_counted_and_is_gone_or_changed_is_found(tmp_path):
    given, runs = contract(tmp_path).path, [run(day, 95 + day) for day in range(3)]
    folder = results(tmp_path / "r", *runs)
    assert accept("status", given, folder)[1].count("counted;") == 1
    results(folder, runs[0], runs[2])
    code, text = accept("status", given, folder)
    assert code == 3
    assert f"{runs[1]['session']}: it was counted on 20" in text
    assert "its records are gone" in text
    results(folder, runs[0], {**runs[1], "value": 120.0}, runs[2])
    assert (
        "its records are not those that were counted"
        in accept("status", given, folder)[1]
    )
    results(folder, *runs, run(0, 120, hours=2))
    assert "was not there when that was counted" in accept("status", given, folder)[1]
    target = tmp_path / "v.html"
    results(folder, runs[0], runs[2])
    with pytest.raises(
        FabricError,
        match="no verdict: .* its records are gone; restore what was counted",
    ):
        accept("verdict", given, target, folder)
    assert not target.exists()


def test_a_count_that_has_not_begun_has_no_last_line(tmp_path):
    folder = results(tmp_path / "r", {**run(0), "system": "other"})
    _, text = accept("status", contract(tmp_path).path, folder)
    assert "0 sessions counted" in text and "c.jsonl: none yet" in text


def test_a_session_that_still_runs_is_not_counted(tmp_path):
    given, folder = contract(tmp_path).path, results(tmp_path / "r", run(0))
    write(folder / "perflogs/A.jsonl", [run(0), run(1)])
    assert "1 session counted" in accept("status", given, folder)[1]


def test_a_ledger_whose_lines_were_changed_is_found(tmp_path):
    given, folder = contract(tmp_path).path, results(tmp_path / "r", run(0), run(1))
    accept("status", given, folder)
    path = folder / "acceptance/c.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[1:]))
    assert (
        "does not follow from the line before: the ledger was changed"
        in accept("status", given, folder)[1]
    )
    path.write_text("{}\n")
    with pytest.raises(RecordError, match="is no line of a ledger; restore its copy"):
        accept("status", given, folder)


def test_clauses_that_are_changed_under_a_running_count_are_named(tmp_path):
    given, folder = contract(tmp_path).path, results(tmp_path / "r", run(0), run(1))
    assert "was changed" not in accept("status", given, folder)[1]
    given.write_text(given.read_text() + "# another risk\n")
    code, text = accept("status", given, folder)
    assert code == 3 and "was changed after sessions were counted for it" in text
    with pytest.raises(FabricError, match="no verdict: .*was changed"):
        accept("verdict", given, tmp_path / "v.html", folder)
    # A line of an earlier release says nothing of the clauses.
    path = folder / "acceptance/c.jsonl"
    first = json.loads(path.read_text().splitlines()[0])
    del first["clauses"]
    path.write_text(f"{json.dumps(first, sort_keys=True)}\n")
    assert "was changed" not in accept("status", given, folder)[1]


def keys(folder):
    """Make a key for each side, and the file of allowed signers."""
    lines = []
    for role in ("seller", "buyer"):
        command = [
            "ssh-keygen",
            "-q",
            "-t",
            "ed25519",
            "-N",
            "",
            "-C",
            role,
            "-f",
            str(folder / role),
        ]
        subprocess.run(command, check=True)
        lines.append(f"{role} {(folder / f'{role}.pub').read_text()}")
    (folder / "signers").write_text("".join(lines))
    return folder / "signers"


LATENCY = {
    "name": "latency", "check": "OsuLatency", "metric": "latency_8B", "layout": "1x2", "good": 50, "bad": 100,
    "spread": 0.2, "runs": 1,
}  # fmt: skip
LOCAL = {"system": "local", "unit": "session", "least": 1}


def test_a_value_that_does_not_follow_from_its_output_is_replaced_and_named(tmp_path):
    facts, members = offers.parts()
    changed = offers.records(members)
    for lines in changed.values():
        for each in lines:
            if each["metric"] == "latency_8B":
                each["value"] *= 0.5
    path = tmp_path / "offer.tar"
    offers.bundle_file.write(path, facts, offers.with_records(members, changed))
    with (
        mock.patch.object(
            session_records.recomputation, "recompute", offers.in_process
        ),
        session_records.of_bundle(offers.OFFER) as genuine,
        session_records.of_bundle(path) as found,
    ):
        values = [
            sorted(
                each["value"] for each in side.records if each["metric"] == "latency_8B"
            )
            for side in (genuine, found)
        ]
    assert values[0] == pytest.approx(values[1])
    assert any("latency_8B: value is" in fault for fault in found.faults)
    assert not any("latency_8B: value is" in fault for fault in genuine.faults)


def test_the_document_has_what_both_sides_sign(tmp_path):
    given = contract(
        tmp_path,
        {**CLAUSE, "text": "at least 100"},
        parties={"seller": "Oak Inc.", "buyer": "Elm"},
    )
    folder = results(
        tmp_path / "r",
        run(0),
        failed(1),
        run(2),
        run(3),
        run(3, 99, hours=1),
        run(4),
        run(5),
    )
    target = tmp_path / "v.html"
    _, text = accept("verdict", given.path, target, folder)
    page = target.read_text()
    for part in (
        "Acceptance",
        "Oak Inc.",
        "Elm",
        "rate: at least 100",
        "node n1 is down",
        "repeated: one session a unit",
        given.sha256,
        "5 %, 5 %",
        "SHA-256 of the last line",
    ):
        assert part in page, part
    assert f'class="verdict {text.split()[-1]}"' in page
    assert 'id="provenance"' not in page


def test_a_plan_has_units_hours_and_the_smallest_violation_found(tmp_path):
    given = contract(tmp_path, {**CLAUSE, "spread": 0.1})
    folder = results(tmp_path / "r", run(0, elapsed_s=360.0, nodes=8))
    (row,) = json.loads(accept("plan", given.path, folder, "--json")[1])
    assert row["fixed"] == 11
    assert row["most"] <= 20
    assert row["found_from"].startswith("90")
    assert row["node_hours"] == pytest.approx(row["most"] * 0.8)
    text = accept("plan", given.path)[1]
    assert "A good machine fails some clause with at most 5 %" in text and "?" in text


def system():
    """Return the catalogue of a system with one case."""
    case = Case("A", "8x1", {"pattern": "x"}, ["rate"])
    return mock.patch.object(cases, "of_system", lambda *_: [case])


@pytest.mark.parametrize(
    "clause, text",
    [
        (
            {**CLAUSE, "metric": "rat"},
            "nothing on s measures metric rat; did you mean rate?",
        ),
        ({**CLAUSE, "check": "B"}, "nothing on s measures check B; known: A"),
        (
            {**CLAUSE, "layout": "16x1"},
            "nothing on s measures layout 16x1; known: 8x1",
        ),
        (
            {**CLAUSE, "parameters": {"pattern": "y"}},
            "measures parameters .*; known: pattern=x",
        ),
    ],
)
def test_what_nobody_measures_is_refused(tmp_path, clause, text):
    with system(), pytest.raises(ClauseError, match=text):
        run_plan.require_measured(contract(tmp_path, clause), "s")
    with system():
        run_plan.require_measured(
            contract(tmp_path, CLAUSE, {**PAIRS, "check": "A"}), "s"
        )
