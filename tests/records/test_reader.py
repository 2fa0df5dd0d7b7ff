# SPDX-License-Identifier: BSD-3-Clause
"""Sound results, from wherever they are."""

import gzip
from itertools import chain

import polars as pl
import pytest

from fabric_checks.core.errors import RecordError
from fabric_checks.records import reader, series, sources
from fabric_checks.records.sources import Faults
from fabric_checks.records.table import COLUMNS, REPEATED, record_of
from tests.builders import failed, load, record, write


def as_records(frame):
    """Return the rows of a table as the objects that they came from, which do not name their case."""
    return [record_of(row) | {"case": None} for row in frame.drop("side").to_dicts()]


def test_all_fields_come_out_as_they_went_in(tmp_path):
    odd = "a\x1b[31m 'b' \" \\ \x00 \u2028 é \U0001f600"
    records = [
        record(),
        record(
            1,
            findings=[{"kind": "a", "severity": "note", "text": odd}],
            fail_reason=odd,
            size_B=None,
        ),
        record(
            2,
            value=1e-320,
            mpi="",
            compared={
                "metric": "m",
                "quantity": "m",
                "unit": "us",
                "values": {"1x1": 1.5},
            },
        ),
        failed(3),
    ]
    loaded = load(write(tmp_path / "a.jsonl", records))
    assert loaded.faults == ()
    assert loaded.frame.schema == {"side": pl.String(), **COLUMNS}
    assert as_records(loaded.frame) == records


def test_an_item_of_a_list_is_wanted_as_it_is_written(tmp_path):
    records = [
        record(nodelist=["nö1"]),
        record(1, nodelist=["nö10"]),
        record(2, nodelist=["n", "nö1"]),
    ]
    path = write(tmp_path / "a.jsonl", records)
    loaded = reader.load([sources.Source("a", path, where={"nodelist": "nö1"})])
    assert loaded.frame["jobid"].to_list() == ["100", "102"]


def test_the_first_and_the_last_moment_and_the_longest_name_are_sound(tmp_path):
    good = [
        record(time="1970-01-01T00:00:00+00:00"),
        record(time="2200-12-31T23:59:59+00:00", system="s" * 80),
    ]
    loaded = load(write(tmp_path / "a.jsonl", good))
    assert loaded.frame.height == 2 and loaded.faults == ()
    loaded = load(write(tmp_path / "a.jsonl", [*good, record(1, system="s" * 81)]))
    assert loaded.frame.height == 2 and "'system': expected" in loaded.faults[0]


def test_a_results_folder_a_perflogs_folder_and_a_file(tmp_path):
    path = write(tmp_path / "perflogs/s/p/A.jsonl", [record()])
    write(tmp_path / "output/x/notes.jsonl", [b"a file of a check\n"])
    (tmp_path / "perflogs/s/p/A.log").write_text("not ours\n")
    (tmp_path / "perflogs/s/p/.A.jsonl.swp").write_text("an editor's\n")
    for results in (tmp_path, tmp_path / "perflogs", path):
        assert as_records(load(results).frame) == [record()]
        assert load(results).faults == ()


def test_times_of_all_offsets_are_in_utc(tmp_path):
    texts = [
        "2026-01-31T12:00:00+02:00",
        "2026-01-31T10:00:01.25Z",
        "2026-01-31T05:00:02-0500",
    ]
    frame = load(
        write(
            tmp_path / "a.jsonl", [record(n, time=text) for n, text in enumerate(texts)]
        )
    ).frame
    assert frame["time"].dt.strftime("%H:%M:%S%.f").to_list() == [
        "10:00:00",
        "10:00:01.250",
        "10:00:02",
    ]
    assert frame["value"].to_list() == [1.5, 2.5, 3.5]


def test_only_requested_columns_are_loaded_in_the_order_of_the_fields(tmp_path):
    path = write(tmp_path / "a.jsonl", [record(1), record(0)])
    loaded = load(path, ["value", "unit", "check"])
    assert loaded.frame.columns == ["side", "check", "value", "unit"]
    assert loaded.frame["value"].to_list() == [1.5, 2.5]
    with pytest.raises(ValueError, match="unknown columns: cluster"):
        load(path, ["cluster"])


def test_a_compact_table_says_the_same(tmp_path):
    path = write(
        tmp_path / "a.jsonl",
        [record(n, metric=f"m{n}") for n in range(3)] + [failed(3)],
    )
    compact = load(path, compact=True).frame
    assert {
        name for name, kind in compact.schema.items() if kind == pl.Categorical
    } == {"side", *REPEATED}
    assert compact.with_columns(pl.col(pl.Categorical).cast(pl.String)).equals(
        load(path).frame
    )


def packed(path):
    """Pack a file as logrotate does."""
    new = path.with_name(f"{path.name}.gz")
    new.write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    return new


def test_packed_perflogs_are_among_those_of_a_folder(tmp_path):
    """An estimate of what a run costs did not see them, and a bundle left them out."""
    folder = tmp_path / "perflogs/s/p"
    folder.mkdir(parents=True)
    old = packed(write(folder / "A-2025.jsonl", [record()]))
    new = write(folder / "A.jsonl", [record()])
    (folder / ".A.jsonl.swp").touch()
    assert sources.perflogs(tmp_path) == sources.perflogs(tmp_path, "s") == [old, new]
    assert sources.perflogs(tmp_path, "other") == []


@pytest.mark.parametrize("kind", ["json lines", "packed"])
@pytest.mark.parametrize(
    "limits, values",
    [
        ("@2026-02-01..2026-02-02", [2.5, 3.5]),
        ("@2026-02-01T12:00..", [2.5, 3.5, 4.5]),
        ("@2026-02-02T12:00..", [3.5, 4.5]),
        ("@..2026-02-01T12:00", [9.0, 1.5]),
        (",system=other", [9.0]),
        (",size_B=8,value=2.5", [2.5]),
        (",nodelist=n2", [4.5]),
    ],
)
def test_limits(kind, limits, values, tmp_path):
    records = [
        *(record(n) for n in range(3)),
        record(3, nodelist=["n1", "n2"]),
        record(-9, system="other", value=9.0),
    ]
    path = write(tmp_path / "a.jsonl", sorted(records, key=lambda entry: entry["time"]))
    if kind == "packed":
        path = packed(path)
    loaded = reader.load([sources.parse(f"{path}{limits}")])
    assert loaded.frame["value"].to_list() == values and loaded.faults == ()


def test_nothing_within_the_limits_is_an_error(tmp_path):
    path = write(tmp_path / "a.jsonl", [record()])
    with pytest.raises(
        RecordError,
        match=r"a.jsonl: no sound record within its limits \(system=x\); .*a.jsonl --list` lists",
    ):
        reader.load([sources.parse(f"{path}@2027-01-01..,system=x")])


def test_a_file_in_many_parts_keeps_its_lines(tmp_path, monkeypatch):
    records = [record(n) for n in range(40)]
    path = write(
        tmp_path / "a.jsonl", [*records[:20], b"\n", b"bad\n", b"  \n", *records[20:]]
    )
    whole = load(path)
    monkeypatch.setattr(reader, "BATCH_B", 2000)
    loaded = load(path)
    assert loaded.frame.equals(whole.frame) and loaded.frame.height == 40
    assert [fault.split(": ")[0] for fault in loaded.faults] == [f"{path}:22"]


@pytest.mark.parametrize("kind", ["json lines", "packed"])
def test_parts_of_the_same_results_are_kept_apart(kind, tmp_path):
    path = write(
        tmp_path / "a.jsonl",
        [record(0), b"bad\n", record(1), record(2, system="t"), record(3)],
    )
    if kind == "packed":
        path = packed(path)
    parts = ["x={}@..2026-02-01", "y={}@2026-02-01..,system=s", "z={}", "t={},system=t"]
    loaded = reader.load(
        [sources.parse(part.format(path)) for part in parts], ["value"]
    )
    values = {"x": [1.5, 2.5], "y": [2.5, 4.5], "z": [1.5, 2.5, 3.5, 4.5], "t": [3.5]}
    assert loaded.frame.rows() == [
        (side, value) for side, each in values.items() for value in each
    ]
    assert len(loaded.faults) == 1


FOLDED = ("system", "check", "metric", "size_B", "value", "time", "fail_reason")


def together(parts):
    """Return what parts have of each kind of record: values in any order, and the first and the last time."""
    found = {}
    for label, part in parts:
        for row in part.drop("last").to_dicts():
            kind = (
                label,
                *(row[name] for name in FOLDED if name not in ("time", "value")),
            )
            found.setdefault(kind, []).append(
                (row["values"], row["n"], row["first_time"], row["last_time"])
            )
    return {
        kind: (sorted(map(str, chain(*values))), sum(n), min(first), max(last))
        for kind, rows in found.items()
        for values, n, first, last in [zip(*rows, strict=True)]
    }


def test_aggregated_are_the_records_that_are_loaded(tmp_path, monkeypatch):
    """In parts, of which two may have the same series; the same faults are named."""
    records = [
        record(n // 2, metric=f"m{n % 3}", system="st"[n % 2], size_B=n % 5)
        for n in range(160)
    ]
    write(tmp_path / "a.jsonl", [*records, b"{}\n", failed(90), failed(91)])
    monkeypatch.setattr(reader, "BATCH_B", 20_000)
    parts = ("", "@2026-02-10..2026-03-05T12:00,system=s", ",system=t", ",mpi=MPICH")
    chosen = [
        sources.parse(f"{label}={tmp_path}{part}")
        for label, part in zip("abcd", parts, strict=True)
    ]
    loaded, faults = reader.load(chosen, FOLDED), []
    whole = [
        (label, series.aggregated(loaded.frame.filter(side=label).drop("side")))
        for label in loaded.frame["side"].unique(maintain_order=True)
    ]
    parts = list(reader.load_aggregated(chosen, FOLDED, faults))
    assert together(parts) == together(whole) and tuple(faults) == loaded.faults
    assert len(parts) > 4
    assert sum(part["n"].sum() for _, part in parts) == loaded.frame.height > 300


def test_records_of_a_session(tmp_path):
    ours = record(
        jobid="7", placement=["n1:0", "n1:1", "n2:0", "n2:1"], nodelist=["n1", "n2"]
    )
    write(tmp_path / "perflogs/s/p/A.jsonl", [record(1), ours, b"{half"])
    write(tmp_path / "perflogs/s/p/B.jsonl", [record(metric="other"), failed(1)])
    faults = Faults()
    found = reader.of_session(tmp_path, ours["session"], faults)
    assert [each | {"case": None} for each in found] == [
        ours,
        record(metric="other", quantity="latency"),
    ]
    assert len(list(faults.lines())) == 1
