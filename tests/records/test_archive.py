# SPDX-License-Identifier: BSD-3-Clause
"""Archives lose nothing and add nothing twice."""

import fcntl
import json
from datetime import datetime

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabric_checks.core.errors import RecordError
from fabric_checks.core.metrics import UNITS
from fabric_checks.records import archiving, jsonlines, reading, sources
from fabric_checks.records.record import FIELDS
from fabric_checks.records.sources import Faults
from fabric_checks.records.table import COLUMNS, NESTED
from fabric_checks.records.validation import REQUIRED
from tests.builders import failed, load, record, write


def exported(folder):
    return [json.loads(line) for line in archiving.export(folder, Faults())]


def canonical(records):
    """Return records as text, each with its keys in order: 1 and 1.0, 0.0 and -0.0, null and nothing differ."""
    return sorted(json.dumps(entry, sort_keys=True) for entry in records)


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*.parquet")}


def test_an_archive_returns_the_records_it_was_given(tmp_path):
    records = [record(), record(40, system="other"), failed(2), record(3), record(4, vendor={"of": ["a later", 1.0]})]
    path = write(tmp_path / "a.jsonl", sorted(records, key=lambda entry: entry["time"]))
    outcome = archiving.add(path, tmp_path / "archive")
    assert (outcome.added, outcome.known, outcome.faults) == (5, 0, ())
    assert sorted(str(file.relative_to(tmp_path / "archive")) for file in outcome.files) == [
        "system=other/month=2026-03/records.parquet",
        "system=s/month=2026-01/records.parquet",
        "system=s/month=2026-02/records.parquet",
    ]
    assert canonical(exported(tmp_path / "archive")) == canonical(records)
    assert load(tmp_path / "archive").frame.equals(load(path).frame)


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
anything = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5)
texts = st.text(max_size=20).filter(lambda text: text[:1] not in ("{", "["))
integers = st.none() | st.integers(0, 2**63 - 1)
some_numbers = st.integers(-(10**30), 10**30) | st.floats(-1e30, 1e30)
numbers = st.none() | some_numbers
times = st.builds(
    lambda moment, zone: f"{moment:%Y-%m-%dT%H:%M:%S}{zone}",
    st.datetimes(min_value=datetime(1971, 1, 1), max_value=datetime(2200, 1, 1)),
    st.sampled_from(["+00:00", "Z", "+05:30", ".25-11:00", ".000001+00:00", "+0000"]),
)


more = st.dictionaries(
    st.text().filter(lambda key: key not in ("kind", "text", "hosts", "fault")), anything, max_size=2
)
finding = st.fixed_dictionaries({"kind": st.text(), "text": st.text()}, optional={"fault": st.booleans()})
NESTED_KINDS = {
    "headline": st.fixed_dictionaries(
        {"title": st.text(), "quantity": st.text(), "section": st.text(), "order": st.integers(0, 99)}
    ),
    "compared": st.fixed_dictionaries(
        dict.fromkeys(("metric", "quantity", "unit"), st.text())
        | {"values": st.dictionaries(st.text(), some_numbers, min_size=1, max_size=3)}
    ),
    "not_offered": st.dictionaries(st.text(), st.text(), max_size=3),
    "node_faults": st.dictionaries(st.text(), st.text(), max_size=3),
    "sizes_B": st.lists(st.integers(0, 2**40), max_size=3),
    "parameters": st.dictionaries(st.text(), st.text() | st.integers(0, 99) | st.floats(-1e9, 1e9), max_size=3),
    "findings": st.lists(st.builds(lambda one, other: {**one, **other}, finding, more), max_size=3),
    "nodelist": st.lists(st.text(), max_size=3),
    "ports": st.fixed_dictionaries(
        {
            "nodes": st.dictionaries(
                st.text(),
                st.dictionaries(
                    st.text(),
                    st.fixed_dictionaries(
                        {
                            "sent_B": st.none() | st.integers(0, 2**62),
                            "errors": st.dictionaries(st.text(), some_numbers),
                        }
                    ),
                    max_size=2,
                ),
                max_size=2,
            ),
            "moved_B": st.none() | st.integers(0, 2**62),
        }
    ),
    "placement": st.lists(st.text(), max_size=3),
}


def of_kind(name):
    """Return what a field of a sound record can be, and sometimes is."""
    kinds = {"format": st.just(2), "time": times, "unit": st.sampled_from(UNITS)}
    if name in kinds:
        return kinds[name]
    if name in REQUIRED:
        return texts
    if name in NESTED:
        return st.none() | NESTED_KINDS[name]
    if name in ("elapsed_s", "link_MBps"):
        return st.none() | some_numbers.map(abs)
    kinds = {pl.Boolean(): st.none() | st.booleans(), pl.Int64(): integers, pl.Float64(): numbers}
    return kinds.get(COLUMNS[name], st.none() | texts | st.integers())


sound = st.builds(
    lambda fields, dropped, extra: {**{k: v for k, v in fields.items() if k not in dropped}, **extra},
    st.fixed_dictionaries({name: of_kind(name) for name in FIELDS}).filter(
        lambda fields: (fields["metric"] is None) == (fields["value"] is None)
    ),
    st.sets(st.sampled_from([name for name in FIELDS if name not in (*REQUIRED, "metric", "value", "unit")])),
    st.dictionaries(st.text().filter(lambda name: name not in FIELDS), anything, max_size=3),
)


@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(records=st.lists(sound, min_size=1, max_size=4))
def test_nothing_is_lost_whatever_a_record_has(records, tmp_path_factory):
    folder = tmp_path_factory.mktemp("archive")
    path = write(folder / "a.jsonl", records)
    outcome = archiving.add(path, folder / "archive")
    assert [fault for fault in outcome.faults if "clock" not in fault] == []
    assert canonical(exported(folder / "archive")) == sorted(set(canonical(records)))


@pytest.mark.parametrize("wanted", ["a", "b"])
def test_a_broken_file_of_one_system_does_not_hide_anothers(tmp_path, wanted):
    other = "b" if wanted == "a" else "a"
    archive = tmp_path / "archive"
    archiving.add(write(tmp_path / "a.jsonl", [record(n, system="ab"[n]) for n in range(2)]), archive)
    (broken,) = (archive / f"system={other}").rglob("*.parquet")
    broken.write_bytes(b"broken")
    loaded = reading.load([sources.Source("a", archive, where={"system": wanted})])
    assert loaded.frame["system"].to_list() == [wanted] and loaded.faults == ()


def test_a_broken_file_is_named_and_the_rest_is_exported(tmp_path):
    archive, faults = tmp_path / "archive", Faults()
    archiving.add(write(tmp_path / "a.jsonl", [record(n, system="ab"[n]) for n in range(2)]), archive)
    (broken,) = (archive / "system=a").rglob("*.parquet")
    broken.write_bytes(b"broken")
    assert [json.loads(line)["system"] for line in archiving.export(archive, faults)] == ["b"]
    (line,) = faults.lines()
    assert line.startswith(f"{broken}: cannot be read")


def test_again_is_as_once(tmp_path):
    path = write(tmp_path / "a.jsonl", [record(n) for n in range(5)])
    archiving.add(path, tmp_path / "archive")
    before = files(tmp_path / "archive")
    outcome = archiving.add(path, tmp_path / "archive")
    assert (outcome.added, outcome.known, outcome.files) == (0, 5, ())
    assert files(tmp_path / "archive") == before
    archiving.add(path, tmp_path / "other")
    assert [*files(tmp_path / "other").values()] == [*before.values()]


def test_an_archive_and_perflogs_in_one_folder_count_once(tmp_path):
    path = write(tmp_path / "both/a.jsonl", [record(n) for n in range(3)])
    archiving.add(path, tmp_path / "both")
    write(path, [record(n) for n in range(1, 4)])
    loaded = load(tmp_path / "both")
    assert loaded.frame["value"].to_list() == [1.5, 2.5, 3.5, 4.5] and loaded.faults == ()


def test_archives_can_be_merged(tmp_path):
    for n, name in enumerate("ab"):
        archiving.add(write(tmp_path / f"{name}.jsonl", [record(n)]), tmp_path / name)
    outcome = archiving.add(tmp_path / "a", tmp_path / "b")
    assert (outcome.added, len(exported(tmp_path / "b"))) == (1, 2)


def test_small_batches_come_to_the_same(tmp_path, monkeypatch):
    path = write(tmp_path / "a.jsonl", [record(n % 50, metric=f"m{n}") for n in range(200)])
    archiving.add(path, tmp_path / "large")
    monkeypatch.setattr("fabric_checks.records.jsonlines.BLOCK_B", 5000)
    monkeypatch.setattr(archiving, "BATCH", 10)
    archiving.add(path, tmp_path / "small")
    assert canonical(exported(tmp_path / "small")) == canonical(exported(tmp_path / "large"))


def test_bad_lines_are_named_and_not_archived(tmp_path):
    path = write(tmp_path / "a.jsonl", [record(0), b"x\n", record(1, unit="furlong"), record(2)])
    outcome = archiving.add(path, tmp_path / "archive")
    assert outcome.added == 2
    assert [fault.split(": ")[0] for fault in outcome.faults] == [f"{path}:2", f"{path}:3"]
    with pytest.raises(RecordError, match=r"b.jsonl: no sound record; the first fault: .*b.jsonl:1"):
        archiving.add(write(tmp_path / "b.jsonl", [b"x\n"]), tmp_path / "archive")


def test_a_broken_parquet_or_database_is_named_and_the_rest_is_archived(tmp_path):
    source = tmp_path / "all"
    archiving.add(write(tmp_path / "b.jsonl", [record(1)]), source)
    write(source / "a.jsonl", [record(0)])
    (broken,) = source.rglob("*.parquet")
    broken.write_bytes(b"broken")
    outcome = archiving.add(source, tmp_path / "archive")
    assert outcome.added == 1
    assert [fault.split(": ")[0] for fault in outcome.faults] == [str(broken)]
    database = tmp_path / "results.db"
    database.write_bytes(b"SQLite format 3\0, and no more")
    with pytest.raises(RecordError, match=r"no sound record; the first fault: [^:]*results.db: "):
        archiving.add(database, tmp_path / "archive")


@pytest.mark.parametrize("name", ["../../x", "..", "/etc", "a/b", "a=b", "\x1b[2J", "*", "", "ü", "x" * 80])
def test_no_name_leads_out_of_the_folder(name, tmp_path):
    path = write(tmp_path / "a.jsonl", [record(system=name)])
    (file,) = archiving.add(path, tmp_path / "in/archive").files
    assert file.resolve().parent.parent.parent == (tmp_path / "in/archive").resolve()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.jsonl", "in"]
    assert exported(tmp_path / "in/archive") == [record(system=name)]


def test_any_program_can_read_it(tmp_path):
    """Hive partitions and plain types: what a tool of somebody else's sees."""
    archiving.add(
        write(tmp_path / "a.jsonl", [record(0), record(0, metric="m"), record(0, metric="n")]), tmp_path / "archive"
    )
    archiving.add(write(tmp_path / "a.jsonl", [record(0, value=2.5), record(30, system="t/ü=")]), tmp_path / "archive")
    assert len(names(tmp_path / "archive")) == 3
    rows = pl.scan_parquet(tmp_path / "archive/*/*/*.parquet", hive_partitioning=True)
    frame = rows.filter(pl.col("metric") == "latency_8B").sort("time", "value").collect()
    assert frame.schema == {**COLUMNS, "extra": pl.String(), "month": pl.String()}
    assert frame.select("system", "month", "value").rows() == [
        ("s", "2026-01", 1.5),
        ("s", "2026-01", 2.5),
        ("t/ü=", "2026-03", 31.5),
    ]
    month = rows.filter(pl.col("system") == "t/ü=", pl.col("month") >= "2026-02").select(pl.len()).collect()
    assert month.item() == 1


def test_two_at_once_is_an_error(tmp_path):
    path = write(tmp_path / "a.jsonl", [record()])
    archiving.add(path, tmp_path / "archive")
    with (tmp_path / "archive/.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(RecordError, match="another process is writing this archive; try again"):
            archiving.add(path, tmp_path / "archive")
    archiving.add(path, tmp_path / "archive")


def test_a_broken_file_is_not_overwritten(tmp_path):
    path = write(tmp_path / "a.jsonl", [record()])
    (file,) = archiving.add(path, tmp_path / "archive").files
    file.write_bytes(b"broken")
    with pytest.raises(RecordError, match=r"records.parquet: cannot be read"):
        archiving.add(path, tmp_path / "archive")
    assert file.read_bytes() == b"broken"


def names(folder):
    return sorted(path.name for path in folder.rglob("*.parquet"))


def nights(tmp_path, count, each=3):
    """Add nights of one month one by one; return the archive and all records."""
    every = []
    for night in range(count):
        new = [record(metric=f"m{n}", value=night + n / 8, jobid=f"{night}") for n in range(each)]
        archiving.add(write(tmp_path / f"{night}.jsonl", new), tmp_path / "archive")
        every += new
    return tmp_path / "archive", every


def test_nights_are_merged_so_that_a_month_has_few_files(tmp_path, monkeypatch):
    monkeypatch.setattr(archiving, "MERGED", 30)
    read = []
    monkeypatch.setattr(archiving.archive, "read_unchecked", reading_noted(read))
    archive, every = nights(tmp_path, 40)
    assert canonical(exported(archive)) == canonical(every) and len(load(archive).frame) == 120
    files = sorted(archive.rglob("*.parquet"))
    assert 4 <= len(files) <= 8
    assert all(pl.read_parquet(file).height <= 30 for file in files)
    assert len(archiving.archive.superseded(names(archive))) == 0
    # None is read whole but those that are written again; each row was so a few times.
    assert sum(read) < 5 * len(every)


def reading_noted(read, real=archiving.archive.read_unchecked):
    def noted(path, columns, condition=None, **options):
        frame = real(path, columns, condition, **options)
        if condition is None and columns:
            read.append(frame.height)
        return frame

    return noted


def test_a_large_file_is_not_written_again_for_a_small_one(tmp_path):
    archiving.add(write(tmp_path / "a.jsonl", [record(metric=f"m{n}") for n in range(100)]), tmp_path / "archive")
    before = files(tmp_path / "archive")
    outcome = archiving.add(
        write(tmp_path / "b.jsonl", [record(metric="m7"), record(metric="m100")]), tmp_path / "archive"
    )
    assert (outcome.added, outcome.known, [path.name for path in outcome.files]) == (1, 1, ["records-1.parquet"])
    assert files(tmp_path / "archive").items() > before.items()


def test_files_that_another_has_are_neither_read_nor_left(tmp_path):
    """As when a writer is killed before it has deleted what it merged."""
    archive, _ = nights(tmp_path, 1)
    (first,) = archive.rglob("*.parquet")
    content = first.read_bytes()
    nights(tmp_path, 2)
    assert names(archive) == ["records-0-1.parquet"]
    first.write_bytes(content)
    (first.parent / ".records-0-1.parquet.17").write_bytes(b"half")
    assert load(archive).frame.height == len(exported(archive)) == 6
    archiving.add(tmp_path / "0.jsonl", archive)
    assert names(archive) == ["records-0-1.parquet"] and not list(archive.rglob(".records*"))


def test_no_file_is_deleted_that_has_more_than_its_name_says(tmp_path):
    archive, _ = nights(tmp_path, 2)
    (file,) = archiving.add(write(tmp_path / "x.jsonl", [record(metric="other")]), tmp_path / "other").files
    stray = file.rename(next(archive.rglob("*.parquet")).with_name("records-1.parquet"))
    with pytest.raises(
        RecordError, match=r"records-1.parquet: 1 of its records are missing from the file whose " r"name says"
    ):
        archiving.add(tmp_path / "0.jsonl", archive)
    stray.rename(stray.with_name("records-99.parquet"))
    archiving.add(tmp_path / "0.jsonl", archive)
    assert load(archive).frame.height == 7


@pytest.mark.parametrize(
    ("there", "superseded"),
    [
        (["records.parquet", "records-1.parquet", "records-2-3.parquet"], []),
        (["records.parquet", "records-1.parquet", "records-0-1.parquet", "records-2.parquet"], [0, 1]),
        (["records-1.parquet", "records-2-4.parquet", "records-3.parquet", "records-1-4.parquet"], [0, 1, 2]),
        (["records-0-1.parquet", "records-0-3.parquet", "x.parquet", "records-1-x.parquet"], [0]),
    ],
)
def test_names_of_files_show_which_are_superseded(there, superseded):
    assert archiving.archive.superseded(there) == {there[place] for place in superseded}


def test_a_file_that_a_writer_deletes_meanwhile_is_named(tmp_path, monkeypatch):
    archive, _ = nights(tmp_path, 1)
    archiving.add(write(tmp_path / "other.jsonl", [record(system="other")]), archive)
    found = sources.files_of(archive, Faults())
    found.parquet[0].unlink()
    monkeypatch.setattr(reading, "files_of", lambda *_: found)
    for faults in (load(archive).faults, noted := []):
        list(reading.load_aggregated([sources.Source("a", archive)], ("metric", "value", "time"), noted))
        assert "the archive is being written; try again" in faults[0] and len(faults) == 1


@pytest.fixture
def lines_read(monkeypatch):
    """How many lines were read so far."""
    read = []

    def noted(block, report, about=None, real=jsonlines.records):
        for number, entry in real(block, report, about):
            read.append(number)
            yield number, entry

    monkeypatch.setattr(jsonlines, "records", noted)
    return read


def add(tmp_path, name="perflogs"):
    outcome = archiving.add(tmp_path / name, tmp_path / "archive")
    return outcome.added, outcome.known


def test_a_night_is_added_without_reading_those_before(tmp_path, lines_read):
    path = write(tmp_path / "perflogs/a.jsonl", [record(n) for n in range(20)])
    write(tmp_path / "perflogs/b.jsonl", [record(n, check="B") for n in range(20)])
    assert add(tmp_path) == (40, 0)
    lines_read.clear()
    with path.open("a") as file:
        file.write(json.dumps(record(20)) + "\n" + json.dumps(record(20)) + "\n")
    assert add(tmp_path) == (1, 41) and lines_read == [21, 22]
    assert add(tmp_path) == (0, 42) and lines_read == [21, 22]
    assert load(tmp_path / "archive").frame.height == 41


def test_results_that_share_an_archive_are_each_remembered(tmp_path, lines_read):
    for n, name in enumerate("ab"):
        write(tmp_path / name / "x.jsonl", [record(n)])
        assert add(tmp_path, name) == (1, 0)
    lines_read.clear()
    assert add(tmp_path, "a") == add(tmp_path, "b") == (0, 1) and lines_read == []


def lost(archive, path):
    next(archive.rglob("*.parquet")).unlink()


def older(archive, path):
    write(path.with_name("other.jsonl"), [record(40)])
    next(archive.rglob("*.parquet")).touch()


def edited(archive, path):
    path.write_bytes(path.read_bytes().replace(b"MPICH", b"Open MPI"))


def shorter(archive, path):
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[1:]))


def garbled(archive, path):
    (archive / archiving.MARKS).write_text("[" * 10_000)


def of_another_kind(archive, path):
    noted = json.loads((archive / archiving.MARKS).read_text())
    noted["read"] = {name: mark | {"bytes": -1, "lines": "x"} for name, mark in noted["read"].items()}
    (archive / archiving.MARKS).write_text(json.dumps(noted))


@pytest.mark.parametrize("change", [lost, older, edited, shorter, garbled, of_another_kind])
def test_changed_perflogs_or_archives_are_read_again(change, tmp_path, lines_read):
    path = write(tmp_path / "perflogs/a.jsonl", [record(n) for n in range(5)])
    add(tmp_path)
    lines_read.clear()
    change(tmp_path / "archive", path)
    add(tmp_path)
    assert lines_read[:4] == [1, 2, 3, 4]
    loaded = load(tmp_path / "archive")
    assert {f"{n + 1.5}" for n in range(4)} < {str(value) for value in loaded.frame["value"]} and not loaded.faults


def test_bad_lines_are_named_each_time_until_they_are_mended(tmp_path):
    path = write(tmp_path / "perflogs/a.jsonl", [record(0), b"{\n", record(1)])
    lines = [archiving.add(path, tmp_path / "archive").faults for _ in range(2)]
    assert lines[0] == lines[1] and f"{path}:2" in lines[0][0]
    write(path, [record(0), record(2), record(1)])
    assert add(tmp_path) == (1, 2)


def test_a_line_without_its_end_is_read_when_it_has_one(tmp_path):
    whole = json.dumps(record(1)).encode()
    path = write(tmp_path / "perflogs/a.jsonl", [record(0), whole[:50]])
    assert "half-written" in archiving.add(path, tmp_path / "archive").faults[0]
    write(path, [record(0), whole])
    assert add(tmp_path) == (1, 1)
    write(path, [record(0), whole + b"\n", record(2)])
    assert add(tmp_path) == (1, 2)


def test_numbers_of_lines_go_on(tmp_path):
    path = write(tmp_path / "perflogs/a.jsonl", [record(0), record(1)])
    add(tmp_path)
    with path.open("a") as file:
        file.write("x\n")
    assert archiving.add(path, tmp_path / "archive").faults[0].startswith(f"{path}:3: ")
