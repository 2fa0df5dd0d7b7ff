# SPDX-License-Identifier: BSD-3-Clause
"""The file of an offer: no byte of it changes unseen, and nothing in it does harm."""

import gzip
import io
import random
import tarfile
from pathlib import Path

import pytest

from fabric_checks.core.errors import RecordError
from fabric_checks.records import sources
from fabric_offers import bundle_file
from fabric_offers.bundle_file import MANIFEST, OFFER

FILES = {
    "perflogs/local/a.jsonl": b'{"format": 2}\n' * 200,
    "output/s/rfm_job.out": b"# OSU\n8 1.25\n",
    "binaries.json": b"{}",
}


@pytest.fixture
def genuine(tmp_path):
    path = tmp_path / "genuine.tar"
    bundle_file.write(
        path, {"kind": OFFER}, FILES, lambda text: b"signature of %d bytes" % len(text)
    )
    return path


def unpacked(path, folder):
    """Return what is wrong with a bundle; the folder has what came out of it."""
    folder.mkdir()
    try:
        return [
            (each.kind, each.location)
            for each in bundle_file.unpack(path, folder).faults
        ]
    except RecordError as error:
        return [("no bundle", str(error))]


def test_what_was_packed_comes_out(genuine, tmp_path):
    opened = bundle_file.unpack(genuine, tmp_path)
    assert not opened.faults and opened.manifest["kind"] == OFFER
    assert {name: (tmp_path / name).read_bytes() for name in FILES} == FILES
    assert opened.signature == b"signature of %d bytes" % len(opened.manifest_text)
    assert bundle_file.is_bundle(genuine) and not bundle_file.is_bundle(
        tmp_path / "binaries.json"
    )


def changed_bytes(path, positions):
    """Yield the positions at which another byte is not noticed."""
    content = path.read_bytes()
    for number, position in enumerate(positions):
        broken = bytearray(content)
        broken[position] ^= 1 << (number % 8)
        other = path.with_name("broken.tar")
        other.write_bytes(broken)
        folder = path.with_name(f"unpacked-{number}")
        if not unpacked(other, folder):
            yield position


def test_no_byte_changes_unseen(genuine):
    """Every byte of the end and of a header, and some of all."""
    size = genuine.stat().st_size
    some = random.Random(1).sample(range(size), 300)
    assert not list(
        changed_bytes(genuine, [*some, *range(512), *range(size - 200, size)])
    )


def test_a_cut_or_longer_file_is_seen(genuine, tmp_path):
    content = genuine.read_bytes()
    for number, length in enumerate(
        [
            0,
            1,
            511,
            512,
            2000,
            len(content) - 10240,
            len(content) - 512,
            len(content) - 1,
        ]
    ):
        (tmp_path / "cut.tar").write_bytes(content[:length])
        assert unpacked(tmp_path / "cut.tar", tmp_path / f"cut-{number}"), length
    for number, junk in enumerate(
        [b"\0", bytes(512), bytes(10240), b"x" * 50000, content]
    ):
        (tmp_path / "longer.tar").write_bytes(content + junk)
        assert unpacked(tmp_path / "longer.tar", tmp_path / f"longer-{number}")


def members(path):
    """Return the members of a bundle: headers and contents."""
    with tarfile.open(path) as archive:
        return [(info, archive.extractfile(info).read()) for info in archive]


def written(path, entries):
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for info, content in entries:
            archive.addfile(info, io.BytesIO(content) if content is not None else None)
    return path


def test_every_removed_file_is_named(genuine, tmp_path):
    left = [
        (info, content) for info, content in members(genuine) if info.name not in FILES
    ]
    found = unpacked(written(tmp_path / "less.tar", left), tmp_path / "less")
    assert {("removed", name) for name in FILES} <= set(found)


HARMFUL = {
    "a symbolic link": {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"},
    "a hard link": {"type": tarfile.LNKTYPE, "linkname": "/etc/passwd"},
    "a pipe": {"type": tarfile.FIFOTYPE},
    "a device": {"type": tarfile.CHRTYPE, "devmajor": 1, "devminor": 3},
    "a folder": {"type": tarfile.DIRTYPE},
    "a sparse file": {"type": tarfile.GNUTYPE_SPARSE},
    "a long name of GNU": {"type": tarfile.GNUTYPE_LONGNAME},
    "a header of PAX": {"type": tarfile.XHDTYPE},
    "an absolute path": {"name": "/tmp/fabric-harm"},
    "a way out": {"name": "output/../../harm"},
    "a control character": {"name": "output/\x1b[31m"},
    "an endless name": {"name": "a" * 99, "prefix": ""},
}


@pytest.mark.parametrize("what", HARMFUL)
def test_what_would_do_harm_is_named_and_not_unpacked(genuine, tmp_path, what):
    info = tarfile.TarInfo("output/harm")
    for name, value in HARMFUL[what].items():
        if name != "prefix":
            setattr(info, name, value)
    entries = members(genuine)
    path = written(tmp_path / "harm.tar", [*entries[:2], (info, None), *entries[2:]])
    found = unpacked(path, tmp_path / "in")
    kind = "added" if what == "an endless name" else "harmful"
    assert (kind, info.name) in found
    assert {
        str(each.relative_to(tmp_path / "in"))
        for each in (tmp_path / "in").rglob("*")
        if each.is_file()
    } == {*FILES}
    assert not any(
        each.is_symlink() or each.is_fifo() for each in (tmp_path / "in").rglob("*")
    )
    assert not Path("/tmp/fabric-harm").exists() and not (tmp_path / "harm").exists()


@pytest.mark.parametrize(
    "name", ["/etc/x", "a/../../x", "a//b", "./a", MANIFEST, "a\nb", "", "a" * 300]
)
def test_a_manifest_with_such_names_is_refused(tmp_path, name):
    text = (
        b'{"format": 1, "kind": "offer", "files": {%s: {"bytes": 1, "sha256": ""}}}'
        % repr(name).replace("'", '"').encode()
    )
    info = tarfile.TarInfo(MANIFEST)
    info.size = len(text)
    found = unpacked(written(tmp_path / "bad.tar", [(info, text)]), tmp_path / "in")
    assert found[0][0] == "no bundle" and not list((tmp_path / "in").iterdir())


def test_a_file_that_grew_stops_where_the_manifest_says(tmp_path):
    """The member has 20 MB and its entry says 2000 bytes; of another the entry says petabytes."""
    path = tmp_path / "small.tar"
    bundle_file.write(path, {"kind": OFFER}, {"a.out": b"x" * 2000})
    entries = []
    for info, content in members(path):
        other = b"x" * 20_000_000 if info.name == "a.out" else content
        info.size = len(other)
        entries.append((info, other))
    found = unpacked(written(tmp_path / "grown.tar", entries), tmp_path / "in")
    assert ("changed", "a.out") in found and not list((tmp_path / "in").iterdir())
    text = entries[0][1].replace(b'"bytes": 2000', b'"bytes": 2000000000000000')
    entries[0][0].size = len(text)
    found = unpacked(
        written(tmp_path / "huge.tar", [(entries[0][0], text), *entries[1:]]),
        tmp_path / "huge",
    )
    assert found[0][0] == "no bundle" and "more than a bundle may have" in found[0][1]


def test_a_compressed_archive_is_not_decompressed(genuine, tmp_path):
    (tmp_path / "it.tar").write_bytes(gzip.compress(genuine.read_bytes()))
    assert "decompress it" in unpacked(tmp_path / "it.tar", tmp_path / "in")[0][1]


def test_many_files_are_counted_and_left_in_the_archive(genuine, tmp_path, monkeypatch):
    many = [(tarfile.TarInfo(f"more/{number}"), b"") for number in range(3000)]
    entries = members(genuine)
    path = written(tmp_path / "many.tar", [*entries[:-1], *many, entries[-1]])
    found = unpacked(path, tmp_path / "in")
    assert found[:2] == [("added", "more/0"), ("added", "more/1")]
    assert len(found) == 3001  # one for the checksum
    assert not (tmp_path / "in/more").exists()
    monkeypatch.setattr(bundle_file, "MOST_FILES", 100)
    assert ("harmful", "many.tar") in unpacked(path, tmp_path / "few")


def test_a_file_in_the_place_of_a_folder(tmp_path):
    path = tmp_path / "both.tar"
    bundle_file.write(path, {"kind": OFFER}, {"a": b"1", "a/b": b"2"})
    assert unpacked(path, tmp_path / "in") == [("changed", "a/b")]


@pytest.mark.parametrize("name", ["../a", "/a", "a" * 251])
def test_what_cannot_be_in_a_bundle_is_not_packed(tmp_path, name):
    with pytest.raises(RecordError, match="cannot be in a bundle"):
        bundle_file.write(tmp_path / "it.tar", {"kind": OFFER}, {name: b""})
    assert not (tmp_path / "it.tar").exists()


def test_a_bundle_is_a_set_of_results_unless_it_was_changed(genuine, tmp_path):
    found = sources.parse(f"offer={genuine}").path
    assert (found / "perflogs/local/a.jsonl").read_bytes() == FILES[
        "perflogs/local/a.jsonl"
    ]
    assert sources.parse(str(genuine)).path == found  # unpacked once a process
    data = bytearray(genuine.read_bytes())
    data[-2000] ^= 1
    (tmp_path / "changed.tar").write_bytes(data)
    with pytest.raises(
        RecordError,
        match=r"changed.tar: .*it is not read: see `fabric-checks offers check`",
    ):
        sources.parse(str(tmp_path / "changed.tar"))
    bundle_file.write(tmp_path / "request.tar", {"kind": bundle_file.REQUEST}, FILES)
    with pytest.raises(
        RecordError, match=r"request.tar: this is the request, which has no results"
    ):
        sources.parse(str(tmp_path / "request.tar"))
