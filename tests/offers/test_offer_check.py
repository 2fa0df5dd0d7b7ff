# SPDX-License-Identifier: BSD-3-Clause
"""An offer that was measured follows from itself, and each way to better it is found, although it was packed
anew."""

import gzip
import json
import random
import re

import pytest

from fabric_checks.core.errors import RecordError
from fabric_checks.core.git import git
from fabric_offers import bundle_file, bundle_writer, offer_check
from fabric_offers import request as requests
from tests.offers import offers

#: What the recorded offer is asked about as it is: it is a part of a level.
KNOWN = {"left out", "passes"}


@pytest.fixture(scope="module")
def genuine():
    return offers.parts()


def found(tmp_path, files, recompute, facts=None, **options):
    return [
        each
        for each in offers.objections(tmp_path, files, recompute, facts, **options)
        if each[0] not in KNOWN
    ]


def test_an_offer_that_was_measured_follows_from_itself(genuine, known, tmp_path):
    facts, files = genuine
    assert found(tmp_path, files, known, facts) == []
    checked = offer_check.check(offers.OFFER, recompute=known)
    assert checked.runs == 8
    assert checked.values == 92
    assert checked.records == 92
    assert {each.kind for each in checked.objections} == KNOWN
    printed = json.loads(offer_check.as_json(offers.OFFER, checked))
    assert printed["not_proved"] and len(printed["objections"]) == len(
        checked.objections
    )


def test_every_record_that_is_taken_away_or_there_twice_is_found(
    genuine, known, tmp_path
):
    facts, files = genuine
    count = sum(map(len, offers.records(files).values()))
    for number in random.Random(3).sample(range(count), 6):
        for copies in (0, 2):
            lines = offers.records(files)
            name, place = [
                (name, i) for name in sorted(lines) for i in range(len(lines[name]))
            ][number]
            lines[name][place : place + 1] = [lines[name][place]] * copies
            kinds = {
                kind
                for kind, _, _ in found(
                    tmp_path, offers.with_records(files, lines), known, facts
                )
            }
            assert kinds & {"removed", "record"}, (number, copies)


def test_a_run_whose_records_are_taken_away_has_an_output_too_many(
    genuine, known, tmp_path
):
    facts, files = genuine
    lines = offers.records(files)
    (name,) = [name for name in lines if "OsuLatency" in name]
    slow = lines[name][0]["output"]
    lines[name] = [record for record in lines[name] if record["output"] != slow]
    listed = found(tmp_path, offers.with_records(files, lines), known, facts)
    assert listed == [("record", slow, "there is an output, but no record for it")]


def runs_of(files):
    return sorted(
        {
            record["output"]
            for lines in offers.records(files).values()
            for record in lines
        }
    )


def test_outputs_that_say_something_else_or_are_gone_are_found(genuine, tmp_path):
    """Each run has another of its files changed or removed; one recomputation for all."""
    facts, files = genuine
    files = dict(files)
    runs = runs_of(files)
    osu, hot, lammps = (
        [run for run in runs if name in run]
        for name in ("OsuLatency", "HotSpot", "LammpsBench")
    )

    def change(run, name, pattern, new):
        text = files[f"{run}/{name}"].decode()
        changed = re.sub(pattern, new, text, count=1)
        assert changed != text, run
        files[f"{run}/{name}"] = changed.encode()

    change(osu[0], "rfm_job.out", r"(?m)^( +8 +)\S+", r"\g<1>0.01")
    change(osu[1], "placement.txt", r"vm", "other")
    change(hot[0], "rfm_job.out", r"(?m)^(\d+ .*)$", r"\1 9")
    del files[f"{hot[1]}/rfm_job.out"]
    change(lammps[0], "rfm_job.out", r"Loop time of ", "Loop time of 9")
    del files[f"{lammps[1]}/rfm_job.sh"]
    change(lammps[2], "cost-after.txt", r"(?m)^(\d+)\.", r"9\1.")
    del files[f"{lammps[3]}/placement.txt"]
    listed = found(tmp_path, files, offers.in_process, facts)
    text = "\n".join(map(" ".join, listed))
    assert text.count("OsuLatency") >= 2 and text.count("HotSpot") >= 2, text
    for record in (
        record for lines in offers.records(files).values() for record in lines
    ):
        assert record["test"] in text
    assert "rfm_job.sh is not there" in text and "rfm_job.out is not there" in text


def test_runs_until_it_pleased_and_those_that_failed_are_counted(
    genuine, known, tmp_path
):
    """Three more sessions, of which the last failed."""
    facts, files = genuine
    more, lines = dict(files), offers.records(files)
    (name,) = [name for name in lines if "OsuLatency" in name]
    session = facts["sessions"][0]
    for number in range(3):
        other = f"2026112{number}T000000Z-0000"
        for record in offers.records(files)[name]:
            lines[name].append(json.loads(json.dumps(record).replace(session, other)))
        more |= {
            key.replace(session, other): text
            for key, text in files.items()
            if "OsuLatency" in key
        }
    for record in (each for each in lines[name] if each["session"] == other):
        record |= {"case_result": "fail", "fail_reason": "too slow"}
    listed = offers.objections(tmp_path, offers.with_records(more, lines), known, facts)
    by_kind = {kind: text for kind, _, text in listed}
    assert by_kind["repeated"] == "8 runs in 4 sessions, but 5 were asked for"
    assert by_kind["failed"] == "too slow"
    assert any(
        kind == "physics" and "one of them is a copy" in text
        for kind, _, text in listed
    )


def test_other_versions_and_other_bindings_are_found(genuine, known, tmp_path):
    facts, files = genuine
    lines = offers.records(files)
    (name,) = [name for name in lines if "OsuLatency" in name]
    for record in lines[name][: len(lines[name]) // 2]:
        record |= {
            "reframe": "4.9",
            "collection": "0.1.0+g000000000000.dirty",
            "binding": "0|1",
        }
    kinds = {
        kind
        for kind, _, _ in found(
            tmp_path, offers.with_records(files, lines), known, facts
        )
    }
    assert {"versions", "collection", "placement", "record"} <= kinds


BROKEN = {
    "no JSON": b"{",
    "no description": b'{"partitions": 3}',
    "names that are paths": b'{"name": "../x", "partitions": [], "environments": []}',
    "a program whose name grows": None,
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_description_that_cannot_be_used_is_named(genuine, tmp_path, what):
    facts, files = genuine
    text = BROKEN[what]
    if text is None:
        system = json.loads(files["system.json"])
        system["partitions"][0]["extras"]["nodes"] = 1e300
        text = json.dumps(system).encode()
    listed = found(tmp_path, {**files, "system.json": text}, offers.in_process, facts)
    assert [place for _, place, _ in listed] == ["system.json"]


def test_the_clone_is_held_to_the_commit(genuine, known, tmp_path, monkeypatch):
    facts, files = genuine
    state = json.loads(files["collection.json"])
    request = tmp_path / "request.tar"
    asked = {
        "kind": bundle_file.REQUEST,
        "commit": state["commit"],
        "level": "procurement",
        "made": "2026-01-01T00:00:00+00:00",
        requests.NUMBER: "1",
    }
    monkeypatch.setattr(
        offer_check, "blobs", lambda _: {"checks/base.py": "a" * 40, "ci/run": "b" * 40}
    )
    bundle_file.write(request, asked, {"RULES.md": b""})
    state["files"] = {
        "checks/base.py": "c" * 40,
        "checks/more.py": "d" * 40,
        "config/systems/oak.py": "e" * 40,
    }
    changed = {**files, "collection.json": json.dumps(state).encode()}
    listed = found(
        tmp_path, changed, known, {**facts, requests.REPEATED: "1"}, request=request
    )
    assert [(kind, place, text.split(" (")[0]) for kind, place, text in listed] == [
        ("collection", "checks/base.py", "it was changed"),
        ("collection", "checks/more.py", "it is new"),
        ("collection", "ci/run", "it was deleted"),
    ]
    with pytest.raises(RecordError, match="not the request that was sent out"):
        offer_check.check(offers.OFFER, request=offers.OFFER, recompute=known)


def test_an_offer_of_another_commit_than_asked_for_is_compared_with_its_own(
    genuine, known, tmp_path
):
    """Or all of its records would not follow from their outputs."""
    facts, files = genuine
    packed = json.loads(files["collection.json"])["commit"]
    request, compared = tmp_path / "request.tar", []
    asked = {
        "kind": bundle_file.REQUEST,
        "commit": "f" * 40,
        "level": "procurement",
        "made": "2026-01-01T00:00:00+00:00",
        requests.NUMBER: "1",
    }
    bundle_file.write(request, asked, {"RULES.md": b""})

    def recompute(job, commit):
        compared.append(commit)
        return known(job, commit)

    facts = {**facts, requests.REPEATED: "1"}
    listed = found(tmp_path, files, recompute, facts, request=request)
    assert compared == [packed]
    assert {kind for kind, _, _ in listed} == {"collection"}
    assert any(
        text == f"it was packed at this commit, but {'f' * 12} was asked for"
        for _, _, text in listed
    )


def test_a_packed_folder_of_results_passes_the_check(
    genuine, known, tmp_path, monkeypatch
):
    """The two sides together; the description is the recorded one, and the machine's programs are not
    here."""
    facts, files = genuine
    results = tmp_path / "results"
    for name, text in files.items():
        path = results / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
    (results / "output/outside.txt").symlink_to("/etc/passwd")
    monkeypatch.setattr(
        bundle_writer, "description", lambda *_: json.loads(files["system.json"])
    )
    path = tmp_path / "offer.tar"
    manifest = bundle_writer.pack(
        path, results, "local", level="procurement", answers="1"
    )
    assert manifest[requests.REPEATED] == "1"
    assert manifest["sessions"] == facts["sessions"]
    packed = {
        name for name in manifest["files"] if name.startswith(("perflogs/", "output/"))
    }
    assert packed == {
        name for name in files if name.startswith(("perflogs/", "output/"))
    }
    kinds = {each.kind for each in offer_check.check(path, recompute=known).objections}
    assert kinds <= KNOWN | {"collection", "removed"}  # this clone is at another commit
    with pytest.raises(RecordError, match="no records of the system oak"):
        bundle_writer.pack(path, results, "oak", level="procurement")
    perflog = next((results / "perflogs/local").rglob("*.jsonl"))
    perflog.with_name(f"{perflog.name}.gz").write_bytes(
        gzip.compress(perflog.read_bytes())
    )
    perflog.unlink()
    with pytest.raises(RecordError, match=f"{perflog}.gz: it is packed, .*: gunzip it"):
        bundle_writer.pack(path, results, "local", level="procurement")


def test_a_request_has_the_commit_and_the_rules(tmp_path):
    path = tmp_path / "request.tar"
    manifest = requests.make(path, level="procurement")
    (tmp_path / "in").mkdir()
    opened = bundle_file.unpack(path, tmp_path / "in")
    rules = (tmp_path / "in/RULES.md").read_text()
    assert not opened.faults
    assert manifest["commit"] in rules
    assert "--mode procurement" in rules
    assert len(rules.splitlines()) < 60  # a page
    assert git(
        "bundle", "list-heads", str(tmp_path / "in/collection.git-bundle")
    ).startswith(manifest["commit"])
    assert not offer_check.check_request(path).objections
