# SPDX-License-Identifier: BSD-3-Clause
"""Open what others wrote, and write so that a reader finds the old file or the new one, whole.

Only regular files are opened, and none that a link has outside the folder it is said to be in: a pipe in a folder of
results would be waited for without end, a device read without end; and a link in a folder that somebody sent would show
the reader's own files. What is refused is an ``OSError`` with a cause, as what cannot be read.
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

#: The most of a file that is read whole; run reports of ten thousand cases have some ten megabytes.
LARGEST_B = 256 * 2**20


class UnfitError(OSError):
    """A file that is there and is not opened; ``strerror`` says why."""

    def __init__(self, path: Path, cause: str) -> None:
        super().__init__(errno.EINVAL, cause, str(path))


def require_fit(path: Path, within: Path | None = None) -> None:
    """Refuse what is no regular file, or is a link out of a folder.

    :param within: the folder; a link may lead from place to place in it.
    :raises OSError: if it is refused, or is not there.
    """
    kind = path.stat().st_mode
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(kind):
        raise UnfitError(path, "not a regular file")
    require_within(path, within)


def require_within(path: Path, within: Path | None) -> None:
    """Refuse a path that links lead out of a folder; see :func:`require_fit`."""
    if within is not None and not path.resolve().is_relative_to(within.resolve()):
        raise UnfitError(path, f"a symbolic link out of {within}, which is not followed: name its target instead")


@contextmanager
def opened(path: Path, within: Path | None = None) -> Iterator[FileIO]:
    """Open a file that is fit to be read, see :func:`require_fit`, as bytes and without a buffer.

    :raises OSError: if it is refused, or cannot be read.
    """
    require_fit(path, within)
    # What was put in its place since is not waited for either.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise UnfitError(path, "not a regular file")
        yield file


def read_bytes(path: Path, within: Path | None = None, largest_B: int = LARGEST_B) -> bytes:
    """Return the content of a file; see :func:`opened`.

    :raises OSError: also if it is larger than ``largest_B``.
    """
    with opened(path, within) as file:
        parts, left = [], largest_B + 1
        while left and (part := file.read(left)):
            parts.append(part)
            left -= len(part)
    if not left:
        raise UnfitError(path, f"larger than {largest_B // 2**20 or 1} MiB")
    return b"".join(parts)


def read_text(path: Path, within: Path | None = None, largest_B: int = LARGEST_B, errors: str = "replace") -> str:
    """Return the text of a file in UTF-8, its lines ended by ``\\n``; see :func:`read_bytes`.

    :raises UnicodeDecodeError: if it is none and ``errors`` is ``strict``.
    """
    text = read_bytes(path, within, largest_B).decode(errors=errors)
    return text.replace("\r\n", "\n").replace("\r", "\n")


@contextmanager
def replacing(path: Path, mode: int = 0o666, ending: str | None = None) -> Iterator[Path]:
    """Give a place to write a file to; it takes its path at the end of the block, unless that raises.

    Folders are made. A link stays one, and what it leads to is replaced. What is no file, as ``/dev/stdout``, is
    written itself. Several may write the same file at once, from any host or container: the last to end has written it.

    :param mode: of a file that was not there, less the umask.
    :param ending: of the file's name until then, its own by default; another keeps it from those who look for such
        files, for a writer that is killed leaves it.
    :raises OSError: if it cannot be written, with ``path`` as its file; what was there is as it was.
    """
    target = Path(os.path.realpath(path))
    # The ending tells programs what to write; a long name has to leave room.
    ending = target.suffix if ending is None else ending
    part = target.with_name(f".{target.stem[:150]}.{secrets.token_hex(8)}{ending}")
    beside = False
    try:
        if target.exists() and not target.is_file():
            yield target
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        part.touch(mode, exist_ok=False)  # follows no link that another has put there
        beside = True
        yield part
        _settle(part, target)
    except OSError as error:
        kept = "; it is unchanged" if beside and target.exists() else ""
        raise OSError(error.errno, f"{error.strerror or error}{kept}", str(path)) from None
    finally:
        if beside:
            part.unlink(missing_ok=True)


def _settle(part: Path, target: Path) -> None:
    """Put a file in its place when the disk has it."""
    if target.exists():
        part.chmod(target.stat().st_mode & 0o7777)
    descriptor = os.open(part, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    part.replace(target)


def write_text(path: Path, text: str) -> None:
    """Write a text in UTF-8 in place of a file at once.

    :raises OSError: as :func:`replacing` does.
    """
    with replacing(path) as place:
        place.write_text(text, encoding="utf-8")
