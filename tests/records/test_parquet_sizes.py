# SPDX-License-Identifier: BSD-3-Clause
"""A Parquet file that is small on disk and huge in memory is refused before it is unpacked."""

import tracemalloc

import polars as pl
import pytest

from fabric_checks.core.errors import FileError, RecordError
from fabric_checks.records import archive, archiving, parquet_sizes
from fabric_checks.records.schema import COLUMNS
from tests.records.samples import load, record, write


@pytest.fixture
def file(tmp_path):
    path = write(tmp_path / "a.jsonl", [record(n) for n in range(3)])
    return archiving.add(path, tmp_path / "archive").files[0]


def huge_string(frame):
    return frame.with_columns(pl.lit("x" * 20_000_000).alias("metric"))


def dictionary(frame):
    """A page of long texts that differ, which rows name by number."""
    texts = pl.Series([f"{number}{'x' * 1_000_000}" for number in range(20)])
    return pl.concat([frame[:1]] * 20).with_columns(metric=texts)


def many_columns(frame):
    return frame.with_columns(pl.lit(None, pl.Int64).alias(f"x{number}") for number in range(5000))


@pytest.mark.parametrize(
    ("grow", "said"),
    [
        (huge_string, r"its \d+ bytes unpack to 20\d{6}, more than any archive's do"),
        (dictionary, r"its \d+ bytes unpack to 20\d{6}, more than any archive's do"),
        (
            many_columns,
            "cannot be read .it has more columns than any archive.; move it away and archive its records again",
        ),
    ],
)
def test_what_is_huge_in_memory_is_refused(file, grow, said, monkeypatch):
    grow(pl.read_parquet(file)).write_parquet(file, compression="zstd")
    with pytest.raises(RecordError, match=said) as refused:
        load(file.parent)
    assert "\n" not in str(refused.value)
    # Nothing that unpacks is even asked.
    monkeypatch.setattr(pl, "scan_parquet", lambda *arguments, **others: pytest.fail("it is unpacked"))
    tracemalloc.start()
    with pytest.raises(FileError, match=said):
        archive.read_unchecked(file, [*COLUMNS])
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()


def test_the_sizes_are_those_that_the_file_unpacks_to(tmp_path):
    path = tmp_path / "a.parquet"
    pl.DataFrame({"a": range(50_000)}).write_parquet(
        path, use_pyarrow=False, data_page_size=4096, row_group_size=10_000
    )
    # Numbers that all differ are eight bytes each, with a little around them.
    assert 400_000 < parquet_sizes.unpacked(path, 1) < 440_000
    with pytest.raises(parquet_sizes.DamagedError, match="more columns"):
        parquet_sizes.unpacked(path, 0)


def test_no_damage_does_anything_else(file):
    """Bytes of what the file says of itself are others; and the file ends after each."""
    whole = file.read_bytes()
    begin = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    places = [*range(4, 60), *range(begin, len(whole), 149)]
    refused = 0
    for damaged in [
        *(whole[:at] + bytes([whole[at] ^ mask]) + whole[at + 1 :] for at in places for mask in (1, 0xFF)),
        *(whole[:at] for at in (0, 3, 8, begin, len(whole) - 1)),
        b"PAR1" * 9,
        b"PAR1" + b"\x1c" * 10_000 + (10_000).to_bytes(4, "little") + b"PAR1",
        b"PAR1" + b"\xff" * 10_000 + (10_000).to_bytes(4, "little") + b"PAR1",
    ]:
        file.write_bytes(damaged)
        try:
            parquet_sizes.unpacked(file, archive.MOST_COLUMNS)
        except parquet_sizes.DamagedError as error:
            refused += 1
            assert "\n" not in str(error)
    assert refused > 20
