# SPDX-License-Identifier: BSD-3-Clause
"""Read files of unknown origin safely, and replace files atomically.

Only regular files are opened, and no link out of a given folder is followed: a pipe in a folder of results
would block the reader, a device never ends, and a link in a received folder would expose the reader's own
files. A refused file is an ``OSError`` with a cause, like one that cannot be read.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path

#: The largest file that is read; run reports of ten thousand cases have some ten megabytes.
LARGEST_B = 256 * 2**20
#: What is read at a time of a file of any size.
PIECE_B = 8 * 2**20


class UnfitError(OSError):
    """A file that exists and is refused; ``strerror`` has the reason."""

    def __init__(self, path: Path, cause: str) -> None:
        super().__init__(errno.EINVAL, cause, str(path))


def require_within(path: Path, within: Path | None) -> None:
    """Refuse a path that links lead out of a folder, if one is given.

    :raises OSError: if it is refused.
    """
    if within is not None and not path.resolve().is_relative_to(within.resolve()):
        raise UnfitError(
            path,
            f"a symbolic link out of {within}, which is not followed: name its target instead",
        )


@contextmanager
def opened(path: Path, within: Path | None = None) -> Iterator[FileIO]:
    """Open a regular file for unbuffered reading of bytes.

    :param within: the folder that links may not lead out of.
    :raises OSError: if it is refused, or cannot be read.
    """
    # O_NONBLOCK: a pipe does not block.
    with FileIO(
        path, opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)
    ) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise UnfitError(path, "not a regular file")
        require_within(path, within)
        yield file


def read_bytes(
    path: Path, within: Path | None = None, largest_B: int = LARGEST_B
) -> bytes:
    """Return the content of a file that :func:`opened` accepts.

    :raises OSError: also if it is larger than ``largest_B``.
    """
    with opened(path, within) as file:
        if os.fstat(file.fileno()).st_size > largest_B:
            raise UnfitError(path, f"larger than {largest_B // 2**20 or 1} MiB")
        return file.readall()


def read_text(
    path: Path, within: Path | None = None, largest_B: int = LARGEST_B
) -> str:
    """Return the text of a file in UTF-8 with line ends ``\\n``; see :func:`read_bytes`."""
    return _text(read_bytes(path, within, largest_B))


def _text(content: bytes) -> str:
    text = content.decode(errors="replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def text_pieces(path: Path) -> Iterator[str]:
    """Yield the text of a file of any size in pieces of :data:`PIECE_B`, each to the end of a line.

    :raises OSError: see :func:`opened`.
    """
    rest = b""
    with opened(path) as file:
        while part := file.read(PIECE_B):
            whole, end, last = part.rpartition(b"\n")
            if end:
                yield _text(rest + whole + end)
                rest = b""
            rest += last
    if rest:
        yield _text(rest)


@contextmanager
def replacing(path: Path, ending: str | None = None) -> Iterator[Path]:
    """Yield the path of a new file, which replaces ``path`` at the end of the block, unless that raises.

    Folders are created. A link stays a link, and its target is replaced. A device such as ``/dev/stdout`` is
    written directly. Several processes, on any host or in any container, may write the same file: the last to
    end wins.

    :param ending: the suffix of the new file's name, that of ``path`` by default. Another one hides the file,
        which a killed writer leaves, from readers that look for such files.
    :raises OSError: if it cannot be written, with ``path`` as its file; the old file is unchanged.
    """
    target = Path(os.path.realpath(path))
    # The ending tells programs what to write; a long name has to leave room.
    ending = target.suffix if ending is None else ending
    part = target.with_name(f".{target.stem[:150]}.{secrets.token_hex(8)}{ending}")
    made = False
    try:
        if target.exists() and not target.is_file():
            yield target
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        part.touch(exist_ok=False)  # follows no link that another has put there
        made = True
        yield part
        _settle(part, target)
    except OSError as error:
        kept = "; it is unchanged" if made and target.exists() else ""
        raise OSError(
            error.errno, f"{error.strerror or error}{kept}", str(path)
        ) from None
    finally:
        if made:
            part.unlink(missing_ok=True)


def _settle(part: Path, target: Path) -> None:
    """Rename a file once its content is on the disk."""
    if target.exists():
        part.chmod(target.stat().st_mode & 0o7777)
    descriptor = os.open(part, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    part.replace(target)


def write_text(path: Path, text: str) -> None:
    """Replace a file by a text in UTF-8.

    :raises OSError: as :func:`replacing` does.
    """
    with replacing(path) as new:
        new.write_text(text, encoding="utf-8")
