# SPDX-License-Identifier: BSD-3-Clause
"""Every field of a record and every file of a case, changed one at a time and all alike: found, or listed."""

import json
import re

import pytest
from click.testing import CliRunner

from fabric_checks.core.errors import FabricError, RecordError
from fabric_checks.records.record import FIELDS, TYPES
from fabric_offers import bundle_file, offer_check, recomputation
from fabric_offers import request as requests
from fabric_offers.cli import command
from tests.offers import offers

LISTED = {name for names in recomputation.UNPROVED.values() for name in names}
#: What is put where a record has null, and what is put for text that has to have a form.
INSTEAD = {str: "x", float: 1.5, int: 3, bool: True, list: [], dict: {}}
FORMS = {
    "headline": {"title": "x", "quantity": "x", "section": "x", "order": 1},
    "compared": {"metric": "x", "quantity": "x", "unit": "us", "values": {"1x1": 1.0}},
    "findings": [{"text": "x", "kind": "slow", "severity": "fault"}],
    "ports": {"nodes": {}},
    "time": "2027-01-01T00:00:00+00:00",
    "unit": "s",
    "better": "x",
}


@pytest.fixture(scope="module")
def genuine():
    """Return the facts, and the files of one case in two passes."""
    facts, files = offers.parts()
    return facts, {
        name: text
        for name, text in files.items()
        if not re.search("OsuLatency|LammpsBench", name)
    }


@pytest.fixture(scope="module")
def usual(genuine, known, tmp_path_factory):
    """Return the objections to the genuine files."""
    folder = tmp_path_factory.mktemp("usual")
    return set(offers.objections(folder, genuine[1], known, genuine[0]))


@pytest.fixture
def found(genuine, known, usual, tmp_path):
    """Return a function that checks other files, and returns the objections beyond those of the genuine
    ones."""

    def check(files, facts=genuine[0], recompute=known, **options):
        return [
            each
            for each in offers.objections(tmp_path, files, recompute, facts, **options)
            if each not in usual
        ]

    return check


def altered(field, value):
    """Return another value of a field, in the form that it has to have."""
    if field in FORMS:
        return FORMS[field]
    if value is None:
        return INSTEAD[TYPES[field]]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return value + "x"
    return {**value, "x": "y"} if isinstance(value, dict) else [*value, *value[:1]]


@pytest.mark.parametrize("field", FIELDS)
def test_every_field_follows_from_something_or_is_listed(genuine, found, field):
    """Changed in one record, and in all, which only what is listed survives."""
    files = genuine[1]
    for change_all in (False, True):
        lines = offers.records(files)
        for record in (
            record
            for each in lines.values()
            for record in (each if change_all else each[:1])
        ):
            record[field] = altered(field, record[field])
        listed = found(offers.with_records(files, lines))
        assert listed or field in LISTED
    assert not (listed and field in LISTED)


#: How each file of a case is changed.
CHANGES = {
    "rfm_job.sh": (r"\Z", "# nothing\n"),
    "rfm_job.out": (r"(?m)^(\d+ +)\S+", r"\g<1>77"),
    "placement.txt": (r"vm", "wm"),
    "cost-before.txt": (r"(?m)^\d+", "1"),
    "cost-after.txt": (r"(?m)^\d+", "9999999"),
}


def test_every_file_of_a_case_is_found_or_listed(genuine, known, found):
    """One of them and all alike; if it takes recomputing all alike, for test_offer_check.py changes one."""
    files = genuine[1]
    names = sorted(name for name in files if name.startswith("output/"))
    kinds = {name.rpartition("/")[2] for name in names}
    assert {name for name in LISTED if "." in name} <= kinds
    for kind in kinds:
        of_kind = [name for name in names if name.endswith(f"/{kind}")]
        for chosen in [of_kind] if kind in CHANGES else [of_kind[:1], of_kind]:
            pattern, new = CHANGES.get(kind, (r"\Z", "nothing\n"))
            other = {
                name: re.sub(pattern, new, files[name].decode(), count=1).encode()
                for name in chosen
            }
            assert all(other[name] != files[name] for name in chosen), kind
            listed = found(
                {**files, **other},
                recompute=offers.in_process if kind in CHANGES else known,
            )
            assert bool(listed) == (kind not in LISTED), (kind, listed)
            removed = found(
                {name: text for name, text in files.items() if name not in chosen}
            )
            assert removed or (kind in LISTED and "build" in kind), (kind, chosen)


LAUNCH = r"(?m)^(mpirun -np 2 .*/hot_spot.*)$"
SCRIPTS = {
    "a library put before the others": (
        r"(?m)^(export HYDRA)",
        r"export LD_PRELOAD=/x.so\n\1",
    ),
    "another path of libraries": (r"(LD_LIBRARY_PATH=)[^$]*", r"\1/x/lib"),
    "a function for the launcher": (
        r"(?m)^fabric_folder",
        'mpirun() { x "$@"; }\nfabric_folder',
    ),
    "an output that was canned": (LAUNCH, "cat canned"),
    "a wrapper around probe and program": (r"(?m)^mpirun -np 2", "mpirun -np 2 x"),
    "the best of three": (LAUNCH, r"for i in 1 2 3; do \1; done | best"),
    "another option": (LAUNCH, r"\1 --repeats 9"),
    "a probe in another folder": (r"\S+/placement ", "/x/placement "),
    "another order": (r"(?m)^(export HYDRA.*)\n(export I_MPI.*)", r"\2\n\1"),
    "a line less": (r"(?m)^export HYDRA.*\n", ""),
}


@pytest.mark.parametrize("what", SCRIPTS)
@pytest.mark.parametrize("alike", [False, True], ids=["one", "all alike"])
def test_a_job_script_that_the_collection_does_not_write_is_found(
    genuine, found, what, alike
):
    files = genuine[1]
    names = sorted(name for name in files if name.endswith("/rfm_job.sh"))
    chosen = names if alike else names[:1]
    other = {
        name: re.sub(*SCRIPTS[what], files[name].decode()).encode() for name in chosen
    }
    listed = [each for each in found({**files, **other}) if each[0] == "options"]
    assert listed and all(
        f"{len(chosen)} of 2 job scripts" in text for _, _, text in listed
    )


def test_what_the_file_of_a_system_adds_is_named(genuine, found, known, tmp_path):
    files = genuine[1]
    assert any(
        "adds `export HYDRA_LAUNCHER=fork`" in note
        for note in offer_check.check(offers.OFFER, recompute=known).notes
    )
    system = json.loads(files["system.json"])
    system["partitions"][0]["env_vars"].append(["LD_PRELOAD", "/x.so"])
    added = {
        name: text.replace(b"\nexport PATH", b"\nexport LD_PRELOAD=/x.so\nexport PATH")
        for name, text in files.items()
        if name.endswith("/rfm_job.sh")
    }
    listed = found(
        {**files, **added, "system.json": json.dumps(system).encode()},
        recompute=offers.in_process,
    )
    assert [kind for kind, _, _ in listed] == ["options"]
    assert (
        "adds `export LD_PRELOAD=/x.so`, which can replace what is run" in listed[0][2]
    )
    system["partitions"][0]["launcher"] = "own"
    listed = found(
        {**files, "system.json": json.dumps(system).encode()},
        recompute=offers.in_process,
    )
    assert "no scheduler or launcher `own`" in listed[0][2]


def test_a_file_that_no_job_script_writes_is_found(genuine, found):
    folder = next(
        name for name in genuine[1] if name.endswith("rfm_job.sh")
    ).rpartition("/")[0]
    assert {
        kind for kind, _, _ in found({**genuine[1], f"{folder}/more.txt": b"x"})
    } == {"added"}


def test_a_bundle_is_not_what_its_manifest_calls_it(genuine, known, tmp_path):
    facts, files = genuine
    path = tmp_path / "offer.tar"
    bundle_file.write(path, {**facts, "kind": bundle_file.REQUEST}, files)
    with pytest.raises(
        RecordError, match="by its manifest it is a request, and no offer"
    ):
        offer_check.check(path, recompute=known)


def test_an_offer_answers_one_request(genuine, known, tmp_path):
    facts, files = genuine
    sent = {
        "kind": bundle_file.REQUEST,
        "commit": "0" * 40,
        "level": "procurement",
        "made": "2026-01-01T00:00:00+00:00",
    }
    listed = {}
    for name, number, made in (
        ("first", "1", {}),
        ("second", "2", {}),
        ("later", "1", {"made": "2027-01-01T00:00:00+00:00"}),
    ):
        path = tmp_path / f"{name}.tar"
        bundle_file.write(
            path, {**sent, requests.NUMBER: number, **made}, {"RULES.md": b""}
        )
        every = offers.objections(
            tmp_path, files, known, {**facts, requests.REPEATED: "1"}, request=path
        )
        listed[name] = [text for kind, _, text in every if kind == "request"]
    assert listed == {
        "first": [],
        "second": [
            "it answers that of another request; it has to be packed with --request"
        ],
        "later": ["1 session began before the request was made"],
    }


def test_the_first_line_tells_how_many_values_were_recomputed(
    genuine, tmp_path, monkeypatch
):
    facts, files = genuine
    path = tmp_path / "offer.tar"
    (name,) = [name for name in files if name.startswith("perflogs/")]
    first = offers.records(files)[name][:1]
    bundle_file.write(path, facts, offers.with_records(files, {name: first}))

    def fail(*_):
        raise FabricError("the values cannot be recomputed: x")

    monkeypatch.setitem(offer_check.check.__kwdefaults__, "recompute", fail)
    printed = CliRunner().invoke(command, ["check", str(path)]).output
    assert (
        f"{len(files)} files; 1 value of 1 run, none recomputed from its output"
        in printed
    )


@pytest.mark.parametrize(
    "words, status, text",
    [
        (["check", "{}"], 2, "is a directory"),
        (["check"], 2, "name the offer, or with --request alone the request"),
        (
            ["check", "--request", "{}/request.tar"],
            0,
            "1 file; a request, and nothing in it is measured",
        ),
        (
            ["rank", "{}/rules.yaml", "x"],
            1,
            "criteria is 5; give a list, each a mapping",
        ),
    ],
)
def test_wrong_usage_is_one_line_with_the_remedy(tmp_path, words, status, text):
    (tmp_path / "rules.yaml").write_text("criteria: 5\n")
    bundle_file.write(
        tmp_path / "request.tar", {"kind": bundle_file.REQUEST}, {"RULES.md": b""}
    )
    done = CliRunner().invoke(command, [word.format(tmp_path) for word in words])
    shown = (
        str(done.exception) if isinstance(done.exception, FabricError) else done.output
    )
    assert text in shown and done.exit_code == status
