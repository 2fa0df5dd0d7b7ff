# SPDX-License-Identifier: BSD-3-Clause
"""The file that a buyer and a vendor exchange: a tar archive of regular files, in which no byte can change
unseen.

In this order: ``manifest.json``, with size and SHA-256 of every file; ``manifest.json.sig``, if it is signed;
the files; and ``bundle.sha256`` with the SHA-256 of all bytes before it. All bytes after those are
determined, so every change of a byte is found. Whoever writes the whole file anew can make all of that fit
again, except for the signature.

What is read is hostile. Python's tarfile reads the headers; the members are written here, and only those that
the manifest names, as new files below one folder: nothing else of a tar archive (links, devices, pipes,
sparse files, absolute paths, ``..``) has an effect, and nothing grows beyond its size in the manifest, whose
sum is bounded.
"""

from __future__ import annotations

import hashlib
import json
import tarfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from io import BufferedReader, BytesIO
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from fabric_checks.core import files
from fabric_checks.core.errors import RecordError, quoted

FORMAT = 1
#: The kinds of bundles: the buyer's, and the vendor's.
REQUEST, OFFER = "request", "offer"
MANIFEST, SIGNATURE, DIGEST = "manifest.json", "manifest.json.sig", "bundle.sha256"

#: The most that a bundle may be: files, bytes of all of them unpacked, and of its manifest. A procurement run
#: of some hundred nodes is far below; the sources of all packages are some gigabytes.
MOST_FILES, MOST_B, MOST_MANIFEST_B = 500_000, 64 * 2**30, 256 * 2**20
_PART = 2**20
#: An object of JSON.
Data = Mapping[str, Any]


@dataclass(frozen=True)
class Fault:
    """A fault of a bundle.

    :param kind: its kind in the list of objections; :param location: the member; :param text: the cause.
    """

    kind: str
    location: str
    text: str


@dataclass
class Opened:
    """The content of a bundle.

    :param folder: the folder with its sound files.
    :param manifest: the content of its manifest; :param manifest_text: the same as bytes.
    :param signature: of the manifest, or None; :param faults: all that is wrong with the file.
    """

    folder: Path
    manifest: dict[str, Any] = field(default_factory=dict)
    manifest_text: bytes = b""
    signature: bytes | None = None
    faults: list[Fault] = field(default_factory=list)


def is_bundle(path: Path) -> bool:
    """Return whether a file begins as a bundle does."""
    try:
        with files.opened(path) as file:
            head = file.read(512)
    except OSError:
        return False
    return head.startswith(MANIFEST.encode() + b"\0") and head[257:262] == b"ustar"


def folder_of(path: Path) -> Path | None:
    """Return the folder that an offer's bundle is unpacked in, once a process; None if the file is no bundle.

    :raises RecordError: if the bundle was changed, or has no results.
    """
    return Path(_unpacked(path).name) / path.name if is_bundle(path) else None


@cache
def _unpacked(path: Path) -> TemporaryDirectory[str]:
    """Unpack the bundle of an offer, to be read until the process ends."""
    scratch = TemporaryDirectory(prefix="fabric-bundle-")
    folder = Path(scratch.name) / path.name
    folder.mkdir()
    opened = unpack(path, folder)
    if opened.faults:
        first = opened.faults[0]
        raise RecordError(
            f"{path}: {first.location}: {first.text}; it is not read: see `fabric-checks offers check`"
        )
    if opened.manifest["kind"] != OFFER:
        raise RecordError(
            f"{path}: this is the request, which has no results; the bundle that comes back has them"
        )
    return scratch


def write(
    path: Path,
    facts: Mapping[str, Any],
    members: Mapping[str, Path | bytes],
    sign: Callable[[bytes], bytes] | None = None,
) -> dict[str, Any]:
    """Write a bundle, and return its manifest.

    :param facts: the keys of the manifest other than ``files``, with ``kind``.
    :param members: the files by their names in the bundle. :param sign: returns the signature of a text.
    :raises OSError: if a file cannot be read or written. :raises RecordError: if one cannot be in a bundle.
    """
    listed = {name: _entry(name, members[name]) for name in sorted(members)}
    manifest = {**facts, "format": FORMAT, "files": listed}
    text = (json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode()
    with files.replacing(path) as temporary, temporary.open("wb") as raw:
        out = _Hashing(raw)
        out.add(MANIFEST, text)
        if sign:
            out.add(SIGNATURE, sign(text))
        for name in listed:
            out.add(name, members[name])
        raw.write(_tail(out.length, out.sha.hexdigest()))
    return manifest


def _entry(name: str, content: Path | bytes) -> dict[str, Any]:
    if cause := _unsound(name):
        raise RecordError(f"{quoted(name, 200)} cannot be in a bundle: {cause}")
    return checksum(content)


def checksum(content: Path | bytes) -> dict[str, Any]:
    """Return the size and the SHA-256 of a file."""
    sha, length = hashlib.sha256(), 0
    with _reading(content) as file:
        while part := file.read(_PART):
            sha.update(part)
            length += len(part)
    return {"bytes": length, "sha256": sha.hexdigest()}


def _reading(content: Path | bytes) -> BinaryIO:
    return BytesIO(content) if isinstance(content, bytes) else content.open("rb")


def _header(name: str, length: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.size = length
    try:
        return info.tobuf(tarfile.USTAR_FORMAT, "utf-8", "strict")
    except ValueError as error:
        raise RecordError(
            f"{quoted(name, 200)} cannot be in a bundle: {error}"
        ) from None


class _Hashing:
    """Writes members, and knows length and SHA-256 of all that it wrote."""

    def __init__(self, raw: BinaryIO) -> None:
        self.raw, self.sha, self.length = raw, hashlib.sha256(), 0

    def add(self, name: str, content: Path | bytes) -> None:
        length = len(content) if isinstance(content, bytes) else content.stat().st_size
        self._put(_header(name, length))
        written = 0
        with _reading(content) as file:
            while part := file.read(_PART):
                self._put(part)
                written += len(part)
        if written != length:
            raise RecordError(
                f"{content!s}: it changed while it was being packed; wait until nothing is running"
            )
        self._put(bytes(-length % 512))

    def _put(self, part: bytes) -> None:
        self.raw.write(part)
        self.sha.update(part)
        self.length += len(part)


def _tail(length: int, digest: str) -> bytes:
    """Return the end of a bundle, given length and SHA-256 of all bytes before it."""
    text = f"{digest}\n".encode()
    member = _header(DIGEST, len(text)) + text + bytes(-len(text) % 512) + bytes(1024)
    return member + bytes(-(length + len(member)) % tarfile.RECORDSIZE)


def _unsound(name: str) -> str | None:
    """Return what is wrong with the name of a member, or None."""
    path = PurePosixPath(name)
    if name.startswith("/"):
        return "its path is absolute"
    if ".." in path.parts:
        return "its path leads out of the folder"
    if (
        not name.isprintable()
        or "\\" in name
        or str(path) != name
        or name == "."
        or len(name.encode()) > 250
    ):
        return "its name cannot be that of a file in a bundle"
    return None


def unpack(path: Path, folder: Path) -> Opened:
    """Unpack a bundle into an empty folder, and list all its faults.

    :raises RecordError: if it is no bundle at all: its manifest cannot be read.
    :raises OSError: if it cannot be read, or the files cannot be written.
    """
    opened = Opened(folder)
    with files.opened(path) as raw:
        _Reader(path, BufferedReader(raw, _PART), opened).read()
    return opened


class _Reader:
    """Goes through a bundle once, from its first byte to its last."""

    def __init__(self, path: Path, raw: BufferedReader, opened: Opened) -> None:
        self.path, self.raw, self.opened = path, raw, opened
        self.sha, self.length = hashlib.sha256(), 0
        self.seen: set[str] = set()

    def read(self) -> None:
        self._begin()
        members = 0
        while self._one():
            members += 1
            if members > MOST_FILES:
                self._fault(
                    "harmful",
                    self.path.name,
                    f"it has more than {MOST_FILES} files; the rest is not read",
                )
                break
        for name in self.opened.manifest["files"]:
            if name not in self.seen:
                self._fault(
                    "removed", name, "it is in the manifest, but not in the bundle"
                )

    def _begin(self) -> None:
        """Read the manifest."""
        try:
            info = self._next()
        except tarfile.HeaderError:
            info = None
        if (
            info is None
            or info.name != MANIFEST
            or not info.isreg()
            or not 0 <= info.size <= MOST_MANIFEST_B
        ):
            raise RecordError(
                f"{self.path}: not a bundle of fabric-checks: it does not begin with {MANIFEST}; if it was"
                " compressed in transit, decompress it; if it was unpacked and packed again, ask for it as"
                " it was packed"
            )
        text = b"".join(self._data(info.size))
        self.opened.manifest = _manifest(self.path, text)
        self.opened.manifest_text = text

    def _one(self) -> bool:
        """Read a member, and return whether another may follow."""
        before = self.length, self.sha.copy()
        try:
            info = self._next()
        except tarfile.HeaderError as error:
            self._fault(
                "changed",
                f"byte {self.length}",
                f"the archive is broken there ({error})",
            )
            return False
        if info is None:
            self._fault(
                "changed",
                f"byte {self.length}",
                "the archive ends before its checksum: it was cut off",
            )
        elif info.name == DIGEST:
            self._end(before)
        else:
            self._member(info)
            return True
        return False

    def _end(self, before: tuple[int, Any]) -> None:
        """Hold the end of the file to the only one that it can have, given length and checksum of what is
        before."""
        expected = _tail(before[0], before[1].hexdigest())
        rest = self.raw.read(2 * tarfile.RECORDSIZE)
        if expected[512:] != rest or expected[:512] != self.header:
            self._fault(
                "changed",
                self.path.name,
                "its bytes are not those that were packed: the checksum differs",
            )

    def _next(self) -> tarfile.TarInfo | None:
        """Return the next header, as it stands; None at the end of the archive."""
        self.header = self._take(512)
        if len(self.header) < 512 or not self.header.strip(b"\0"):
            return None
        return tarfile.TarInfo.frombuf(self.header, "utf-8", "surrogateescape")

    def _take(self, length: int) -> bytes:
        part = self.raw.read(length)
        self.sha.update(part)
        self.length += len(part)
        return part

    def _data(self, length: int) -> Iterator[bytes]:
        """Yield the content of a member; the padding behind it is passed over."""
        left = length
        while left and (part := self._take(min(left, _PART))):
            left -= len(part)
            yield part
        self._take(-length % 512)

    def _member(self, info: tarfile.TarInfo) -> None:
        name = info.name
        is_file = info.type in (tarfile.REGTYPE, tarfile.AREGTYPE) and info.size >= 0
        cause = _unsound(name) if is_file else "it is no regular file"
        parts = self._data(max(info.size, 0))
        if cause:
            self._fault("harmful", name, f"{cause}; it is not unpacked")
        elif name == SIGNATURE and self.opened.signature is None and info.size <= _PART:
            self.opened.signature = b"".join(parts)
        elif name not in self.opened.manifest["files"] or name in self.seen:
            self._fault(
                "added",
                name,
                "it is not in the manifest, or there twice, and is not unpacked",
            )
        else:
            self._unpack(name, parts)
        for _ in parts:
            pass

    def _unpack(self, name: str, parts: Iterator[bytes]) -> None:
        self.seen.add(name)
        target = self.opened.folder / name
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as file:
                cause = _copy(parts, file, self.opened.manifest["files"][name])
            if cause:
                target.unlink()
        except (FileExistsError, NotADirectoryError):
            cause = "another file has its name"
        if cause:
            self._fault("changed", name, f"{cause}; it is left out")

    def _fault(self, kind: str, location: str, text: str) -> None:
        self.opened.faults.append(Fault(kind, location, text))


def _copy(
    parts: Iterator[bytes], file: BinaryIO, entry: Mapping[str, Any]
) -> str | None:
    """Write a member, and no more of it than its entry says; return its fault, or None."""
    sha, left = hashlib.sha256(), entry["bytes"]
    for part in parts:
        left -= len(part)
        if left < 0:
            return f"it is larger than the {entry['bytes']} bytes of the manifest"
        sha.update(part)
        file.write(part)
    if left or sha.hexdigest() != entry["sha256"]:
        return "its checksum is not that of the manifest"
    return None


def _require_entry(name: str, entry: Any) -> None:
    """Raise ValueError unless an entry of the manifest is that of a file."""
    if _unsound(name) or name in (MANIFEST, SIGNATURE, DIGEST):
        raise ValueError(f"not the name of a file: {name!r:.60}")
    if (
        not isinstance(entry["bytes"], int)
        or entry["bytes"] < 0
        or not isinstance(entry["sha256"], str)
    ):
        raise ValueError(f"the size and checksum of {name!r:.60} are missing")


def _manifest(path: Path, text: bytes) -> dict[str, Any]:
    try:
        content = json.loads(text)
        if content["format"] != FORMAT or content["kind"] not in (REQUEST, OFFER):
            raise RecordError(
                f"{path}: a bundle of another release (format {content['format']!r:.20}); check it with that"
                " release"
            )
        names = content["files"]
        for name, entry in names.items():
            _require_entry(name, entry)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        cause = " ".join(str(error).split())[:120]
        raise RecordError(
            f"{path}: {MANIFEST} is broken ({type(error).__name__}: {cause}); ask for it again"
        ) from None
    total_B = sum(entry["bytes"] for entry in names.values())
    if len(names) > MOST_FILES or total_B > MOST_B:
        raise RecordError(
            f"{path}: {len(names)} files of {total_B} bytes are more than a bundle may have ({MOST_FILES},"
            f" {MOST_B}); nothing was unpacked"
        )
    return dict(content)
