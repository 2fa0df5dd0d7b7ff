# SPDX-License-Identifier: BSD-3-Clause
"""Archives lose nothing and add nothing twice."""

import fcntl
import json

import polars as pl
import pytest

from fabric_checks.core.errors import RecordError
from fabric_checks.records import archive, archive_writer, reader, sources
from fabric_checks.records.table import COLUMNS, record_of
from tests.builders import START, failed, load, record, text_of, write


def exported(folder):
    """Return the records of an archive, which do not name their cases."""
    return [
        record_of(row) | {"case": None}
        for row in load(folder).frame.iter_rows(named=True)
    ]


def canonical(records):
    """Return records as text, each with its keys in order: 1 and 1.0, null and nothing differ."""
    return sorted(json.dumps(entry, sort_keys=True) for entry in records)


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*.parquet")}


def names(folder):
    return sorted(path.name for path in folder.rglob("*.parquet"))


def add(results, folder):
    outcome = archive_writer.add(results, folder)
    return outcome.added, outcome.known


#: Records with something in every field that a table could lose.
NESTED_VALUES = {
    "compared": {
        "metric": "m",
        "quantity": "m",
        "unit": "us",
        "values": {"1x1": 1.5, "2x1": 2},
    },
    "findings": [
        {
            "kind": "a",
            "text": 'quote " \\ é \u2028',
            "hosts": ["n1"],
            "severity": "fault",
            "size": 0.25,
        }
    ],
    "headline": {"title": "t", "quantity": "q", "section": "s", "order": 3},
    "node_faults": {"n1": "down"},
    "parameters": {"size": 1, "kind": "x"},
    "ports": {
        "nodes": {"n1": {"eth0": {"sent_B": 2**40, "errors": {"crc": 1}}}},
        "moved_B": None,
    },
}


def test_an_archive_returns_the_records_it_was_given(tmp_path):
    records = [
        record(),
        record(40, system="other"),
        failed(2),
        record(3, value=1e-320, elapsed_s=0.0),
        record(4, fail_reason='a\x1b[31m "b" \n \U0001f600', mpi="", **NESTED_VALUES),
    ]
    path = write(tmp_path / "a.jsonl", sorted(records, key=lambda entry: entry["time"]))
    outcome = archive_writer.add(path, tmp_path / "archive")
    assert outcome.added == 5
    assert outcome.known == 0
    assert outcome.faults == ()
    assert sorted(
        str(file.relative_to(tmp_path / "archive")) for file in outcome.files
    ) == [
        "system=other/month=2026-03/records-1.parquet",
        "system=s/month=2026-01/records-1.parquet",
        "system=s/month=2026-02/records-1.parquet",
    ]
    assert canonical(exported(tmp_path / "archive")) == canonical(records)
    assert load(tmp_path / "archive").frame.equals(load(path).frame)


@pytest.mark.parametrize("wanted", ["a", "b"])
def test_a_broken_file_of_one_system_does_not_hide_anothers(tmp_path, wanted):
    other = "b" if wanted == "a" else "a"
    kept = tmp_path / "archive"
    archive_writer.add(
        write(tmp_path / "a.jsonl", [record(n, system="ab"[n]) for n in range(2)]), kept
    )
    (broken,) = (kept / f"system={other}").rglob("*.parquet")
    broken.write_bytes(b"broken")
    loaded = reader.load([sources.Source("a", kept, where={"system": wanted})])
    assert loaded.frame["system"].to_list() == [wanted] and loaded.faults == ()
    loaded = load(kept)
    assert loaded.frame["system"].to_list() == [wanted]
    (line,) = loaded.faults
    assert line.startswith(f"{broken}: cannot be read")


def test_again_is_as_once(tmp_path):
    path = write(tmp_path / "a.jsonl", [record(n) for n in range(5)])
    assert add(path, tmp_path / "archive") == (5, 0)
    before = files(tmp_path / "archive")
    outcome = archive_writer.add(path, tmp_path / "archive")
    assert outcome.added == 0
    assert outcome.known == 5
    assert outcome.files == ()
    assert files(tmp_path / "archive") == before
    archive_writer.add(path, tmp_path / "other")
    assert [*files(tmp_path / "other").values()] == [*before.values()]


def test_an_archive_and_perflogs_in_one_folder_count_once(tmp_path):
    path = write(tmp_path / "both/a.jsonl", [record(n) for n in range(3)])
    archive_writer.add(path, tmp_path / "both")
    write(path, [record(n) for n in range(1, 4)])
    loaded = load(tmp_path / "both")
    assert loaded.frame["value"].to_list() == [1.5, 2.5, 3.5, 4.5]
    assert loaded.faults == ()


def test_small_batches_come_to_the_same(tmp_path, monkeypatch):
    path = write(
        tmp_path / "a.jsonl", [record(n % 50, metric=f"m{n}") for n in range(200)]
    )
    archive_writer.add(path, tmp_path / "large")
    monkeypatch.setattr(reader, "BATCH_B", 5000)
    monkeypatch.setattr(archive_writer, "BATCH_ROWS", 20)
    outcome = archive_writer.add(path, tmp_path / "small")
    assert canonical(exported(tmp_path / "small")) == canonical(
        exported(tmp_path / "large")
    )
    assert sorted(outcome.files) == sorted(files(tmp_path / "small"))
    assert "records-1.parquet" not in names(tmp_path / "small")[1:]


def test_bad_lines_are_named_each_time_until_they_are_mended(tmp_path):
    half = text_of(record(3))[:-1]
    path = write(
        tmp_path / "a.jsonl",
        [record(0), b"x\n", record(1, unit="furlong"), record(2), half[:50]],
    )
    for counts in ((2, 0), (0, 2)):
        outcome = archive_writer.add(path, tmp_path / "archive")
        assert (outcome.added, outcome.known) == counts
        assert [fault.split(": ")[0] for fault in outcome.faults] == [
            f"{path}:{n}" for n in (2, 3, 5)
        ]
    write(path, [record(0), record(2), record(1), half])
    assert add(path, tmp_path / "archive") == (2, 2)
    with pytest.raises(
        RecordError, match=r"b.jsonl: no sound record; 1 fault: .*b.jsonl:1"
    ):
        archive_writer.add(write(tmp_path / "b.jsonl", [b"x\n"]), tmp_path / "archive")


@pytest.mark.parametrize(
    "name", ["../../x", "..", "/etc", "a/b", "a=b", "\x1b[2J", "*", "", "ü", "x" * 80]
)
def test_no_name_leads_out_of_the_folder(name, tmp_path):
    path = write(tmp_path / "a.jsonl", [record(system=name)])
    (file,) = archive_writer.add(path, tmp_path / "in/archive").files
    assert file.resolve().parent.parent.parent == (tmp_path / "in/archive").resolve()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.jsonl", "in"]
    assert exported(tmp_path / "in/archive") == [record(system=name)]


def test_any_program_can_read_it(tmp_path):
    """Hive partitions and plain types, as a tool of somebody else's sees them."""
    path = write(
        tmp_path / "a.jsonl",
        [
            record(0),
            record(0, metric="m"),
            record(0, value=2.5, jobid="x"),
            record(30, system="ü="),
        ],
    )
    archive_writer.add(path, tmp_path / "archive")
    rows = pl.scan_parquet(tmp_path / "archive/*/*/*.parquet", hive_partitioning=True)
    frame = (
        rows.filter(pl.col("metric") == "latency_8B").sort("time", "value").collect()
    )
    assert frame.schema == {**COLUMNS, "month": pl.String()}
    assert frame.select("system", "month", "value").rows() == [
        ("s", "2026-01", 1.5),
        ("s", "2026-01", 2.5),
        ("ü=", "2026-03", 31.5),
    ]
    month = (
        rows.filter(pl.col("system") == "ü=", pl.col("month") >= "2026-02")
        .select(pl.len())
        .collect()
    )
    assert month.item() == 1


def test_two_at_once_is_an_error(tmp_path):
    path = write(tmp_path / "a.jsonl", [record()])
    archive_writer.add(path, tmp_path / "archive")
    with (tmp_path / "archive/.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(
            RecordError, match="another process is writing this archive; try again"
        ):
            archive_writer.add(path, tmp_path / "archive")
    archive_writer.add(path, tmp_path / "archive")


def test_a_broken_file_is_not_overwritten(tmp_path):
    path = write(tmp_path / "a.jsonl", [record()])
    (file,) = archive_writer.add(path, tmp_path / "archive").files
    file.write_bytes(b"broken")
    with pytest.raises(RecordError, match=r"records-1.parquet: cannot be read"):
        archive_writer.add(path, tmp_path / "archive")
    assert file.read_bytes() == b"broken"


@pytest.fixture
def two(tmp_path):
    """Return an archive to which a month's records were added twice, and the file of the first addition."""
    folder = tmp_path / "archive"
    (first,) = archive_writer.add(
        write(tmp_path / "a.jsonl", [record(), record(1, time=START)]), folder
    ).files
    content = first.read_bytes()
    assert add(
        write(tmp_path / "b.jsonl", [record(), record(2, time=START)]), folder
    ) == (1, 1)
    return folder, first, content


def test_files_that_were_replaced_are_neither_read_nor_left(two, tmp_path):
    """As when a writer is killed before it has deleted what it replaced, or before its file has its name."""
    folder, first, content = two
    first.write_bytes(content)
    (first.parent / ".records-3.17.part").write_bytes(b"half")
    assert load(folder).frame.height == len(exported(folder)) == 3
    assert add(tmp_path / "a.jsonl", folder) == (0, 2)
    assert names(folder) == ["records-3.parquet"] and not list(
        folder.rglob(".records*")
    )
    assert load(folder).frame.height == 3


@pytest.mark.parametrize(
    "name", ["records-1.parquet", "records-99.parquet", "copied.parquet"]
)
def test_no_record_of_a_file_that_somebody_copied_is_deleted(two, tmp_path, name):
    folder, first, _ = two
    (other,) = archive_writer.add(
        write(tmp_path / "x.jsonl", [record(metric="other")]), tmp_path / "other"
    ).files
    other.rename(first.with_name(name))
    archive_writer.add(tmp_path / "a.jsonl", folder)
    assert len(names(folder)) == 1 and load(folder).frame.height == 4


def test_names_of_files_show_which_are_superseded():
    there = [
        "records-1.parquet",
        "records-2.parquet",
        "records-10.parquet",
        "x.parquet",
        "records-x.parquet",
    ]
    assert archive.superseded(there) == {"records-1.parquet", "records-2.parquet"}


def test_a_file_that_a_writer_deletes_meanwhile_is_named(two, tmp_path, monkeypatch):
    folder, _, _ = two
    archive_writer.add(
        write(tmp_path / "other.jsonl", [record(system="other")]), folder
    )
    found = sources.files_of(folder, sources.Faults())
    found.parquet[0].unlink()
    monkeypatch.setattr(reader, "files_of", lambda *_: found)
    for faults in (load(folder).faults, noted := []):
        list(
            reader.load_aggregated(
                [sources.Source("a", folder)], ("metric", "value", "time"), noted
            )
        )
        assert "the archive is being written; try again" in faults[0]
        assert len(faults) == 1


def test_what_is_long_on_a_large_machine_is_once_in_a_file_and_in_each_record(tmp_path):
    ports = {"nodes": {"n1": {"hsn0": {"sent_B": 1.0}}, "n2": {}}}
    placement = [f"{node}:{core}" for node in ("n1", "n2") for core in range(64)]
    facts = {"nodelist": ["n1", "n2"], "ports": ports, "placement": placement}
    path = write(
        tmp_path / "a.jsonl",
        [record(metric=f"m{number}", **facts) for number in range(3)],
    )
    archive_writer.add(path, tmp_path / "archive")
    (file,) = files(tmp_path / "archive")
    raw = pl.read_parquet(file, hive_partitioning=False)
    assert raw["ports"].null_count() == raw["nodelist"].null_count() == 2
    assert len(raw["placement"][0]) < len(json.dumps(placement)) / 2
    # Also of a value that is not the first of its case, and by a node of it.
    for sought in (",metric=m2", ",nodelist=n2,metric=m1"):
        source = sources.parse(f"{tmp_path / 'archive'}{sought}")
        (row,) = reader.load([source]).frame.to_dicts()
        assert facts.items() <= record_of(row).items()
