# SPDX-License-Identifier: BSD-3-Clause
"""What users write for a set of results."""

from datetime import datetime, timezone
from pathlib import Path

import pytest

from fabric_checks.core.errors import RecordError
from fabric_checks.records import reader, sources
from tests.builders import record, write


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("results", "a=b", "c@d", "e,system=x", "x=y@2026-01-01..,z"):
        (tmp_path / name).mkdir()


def at(*date):
    return datetime(*date, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("results", ("results", "results", None, None, {})),
        ("before=results", ("before", "results", None, None, {})),
        (
            "results@2026-11-01..2026-11-10",
            (None, "results", at(2026, 11, 1), at(2026, 11, 11), {}),
        ),
        ("results@2026-11-01..", (None, "results", at(2026, 11, 1), None, {})),
        (
            "results@..2026-11-10T06:30",
            (None, "results", None, at(2026, 11, 10, 6, 30), {}),
        ),
        (
            "results@2026-11-01T01:00+02:00..",
            (None, "results", at(2026, 10, 31, 23), None, {}),
        ),
        (
            "results@2026-11-01T01:00Z..",
            (None, "results", at(2026, 11, 1, 1), None, {}),
        ),
        ("n=results,system=cbc", ("n", "results", None, None, {"system": "cbc"})),
        (
            "results@2026-11-01..,system=cbc,mpi=a, b = c",
            (
                None,
                "results",
                at(2026, 11, 1),
                None,
                {"system": "cbc", "mpi": "a, b = c"},
            ),
        ),
        ("results,jobid=", (None, "results", None, None, {"jobid": ""})),
        # What exists is a path, whatever is in it.
        ("a=b", ("a=b", "a=b", None, None, {})),
        ("l=a=b,unit=us", ("l", "a=b", None, None, {"unit": "us"})),
        ("./a=b,unit=us", (None, "a=b", None, None, {"unit": "us"})),
        ("c@d", ("c@d", "c@d", None, None, {})),
        ("e,system=x", ("e,system=x", "e,system=x", None, None, {})),
        (
            "x=y@2026-01-01..,z",
            ("x=y@2026-01-01..,z", "x=y@2026-01-01..,z", None, None, {}),
        ),
        ("two words=results", ("two words", "results", None, None, {})),
    ],
)
def test_the_form(text, wanted):
    found = sources.parse(text)
    label, path, *rest = wanted
    assert (found.label, str(found.path), found.since, found.until, found.where) == (
        label or text,
        path,
        *rest,
    )


@pytest.mark.parametrize("text", ["@2026-01-01..", "a=@2026-01-01..", ",system=s"])
def test_no_path_means_the_results_of_this_clone(text, tmp_path, monkeypatch):
    monkeypatch.setenv("FABRIC_RESULTS", str(tmp_path / "results"))
    assert sources.parse(text).path == tmp_path / "results" == sources.default().path


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "empty set of results"),
        ("nothing", "no file or folder 'nothing'"),
        ("a=nothing@2026-01-01..", "no file or folder 'nothing'"),
        ("results@2026-11-01", "not a time range; write @FROM..TO"),
        ("results@yesterday..", "'yesterday' is not a date"),
        ("results@2026-13-01..", "'2026-13-01' is not a date"),
        ("results@2026-11-02..2026-11-01", "2026-11-02 is not before 2026-11-01"),
        ("results@9999-12-31..9999-12-31", "is not a date"),
        (
            "results,cluster=x",
            "'cluster=x' is not FIELD=VALUE; FIELD is one of format, case, reframe",
        ),
        ("results,", "'' is not FIELD=VALUE"),
        ("results,system", "'system' is not FIELD=VALUE"),
        ("\x1b[31m", "no file or folder"),
    ],
)
def test_a_wrong_source_is_an_error_on_one_line(text, message):
    with pytest.raises(RecordError) as error:
        sources.parse(text)
    assert message in str(error.value)
    assert str(error.value).isprintable()


@pytest.mark.parametrize(
    "where, kept", [("can_be_zero=true", 1), ("can_be_zero=false", 2), ("ppn=2", 3)]
)
def test_fields_that_are_no_text_have_their_values(where, kept):
    write(Path("results/a.jsonl"), [record(n, can_be_zero=n == 1) for n in range(3)])
    assert (
        reader.load([sources.parse(f"results,{where}")], ("can_be_zero",)).frame.height
        == kept
    )
    with pytest.raises(RecordError, match="no sound record within its limits"):
        reader.load([sources.parse("results,nodes=x")], ("can_be_zero",))
