# SPDX-License-Identifier: BSD-3-Clause
"""The console: all output of the command, in which no text of a record does more than be read.

Names of systems, hosts and metrics, messages of programs and of the operating system, paths and options are
untrusted. Lines are printed one by one, so that no text can pass for a line of its own (:func:`print`,
:func:`print_rich`); documents keep their line ends (:func:`print_document`); a character that is not
    printable is ``?`` everywhere, also in
the output of libraries, as both standard streams are replaced (:func:`opened`).

A reader that has seen enough, such as `head`, does not change how a command ends; a standard output that is
closed or full does.
"""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO

from fabric_checks.core.text import one_line, printable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


def _printable(text: str) -> str:
    """Return text in which all but tabs and line ends is printable."""
    return "\t".join(map(printable, text.split("\t")))


class Stream(io.TextIOBase):
    """A standard stream that prints printable characters only, in the encoding of its terminal.

    :param raw: the stream itself; None if the process was started with it closed.
    :param name: its name in messages; None for standard error, whose own faults cannot be reported.
    :param styled: whether escape sequences may pass: for Rich, whose texts are sanitized before it adds them.
    """

    def __init__(
        self, raw: TextIO | None, name: str | None, *, styled: bool = False
    ) -> None:
        super().__init__()
        self.raw, self.name, self._styled = raw, name, styled
        self._fault: OSError | None = None

    @property
    def encoding(self) -> str:  # type: ignore[override]  # the base class has an attribute that cannot be set
        """The encoding of the characters."""
        return getattr(self.raw, "encoding", None) or "utf-8"

    def fileno(self) -> int:
        """Return the descriptor.

        :raises OSError: if there is none.
        """
        if self.raw is None:
            raise io.UnsupportedOperation("fileno")
        return self.raw.fileno()

    def isatty(self) -> bool:
        """Tell whether it is a terminal."""
        return self.raw is not None and self.raw.isatty()

    def is_file(self) -> bool:
        """Return whether it is a file, which has room for every line."""
        try:
            return stat.S_ISREG(os.fstat(self.fileno()).st_mode)
        except OSError:
            return False

    def writable(self) -> bool:
        """Tell that it can be written to."""
        return True

    def write(self, text: str | bytes) -> int:
        """Print text; bytes are UTF-8, in which click prints completions.

        :raises OSError: if standard output cannot be written.
        """
        if text == b"":
            raise TypeError("not a binary stream")  # click tests streams like this
        if isinstance(text, bytes):
            text = text.decode("utf-8", "replace")
        safe = text if self._styled else _printable(text)
        self._try(
            lambda raw: raw.write(
                safe.encode(self.encoding, "replace").decode(self.encoding)
            )
        )
        return len(text)

    def flush(self) -> None:
        """Flush the stream.

        :raises OSError: if standard output cannot be written.
        """
        if self.raw is not None:
            self._try(lambda raw: raw.flush())

    def close(self) -> None:
        """Leave the stream open and unflushed, as it belongs to the process.

        Python closes a stream with its last reference, which may be that of a thread of Rich: it would wait
        for the lock of standard error, and if the process ends while it holds that, Python aborts with status
        134.
        """

    def _try(self, step: Callable[[TextIO], object]) -> None:
        if self._fault is not None:
            raise self._fault  # again, if a caller has caught it
        try:
            if self.raw is None:
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            step(self.raw)
        except BrokenPipeError:
            self._discard()
        except OSError as error:
            self._discard()
            if self.name is not None:
                self._fault = OSError(error.errno, error.strerror, self.name)
                raise self._fault from None

    def _discard(self) -> None:
        """Redirect the stream to /dev/null: its buffer would fail again when the process ends."""
        with suppress(OSError, AttributeError):
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self.fileno())
            os.close(null)


@contextmanager
def opened() -> Iterator[None]:
    """Replace both standard streams for the block."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = out(), err()
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def out() -> Stream:
    """Return standard output."""
    return (
        sys.stdout
        if isinstance(sys.stdout, Stream)
        else Stream(sys.stdout, "standard output")
    )


def err() -> Stream:
    """Return standard error."""
    return sys.stderr if isinstance(sys.stderr, Stream) else Stream(sys.stderr, None)


def hold_descriptors() -> None:
    """Open /dev/null for each standard stream that is closed, or the next file that is opened would take its
    place."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest that is free


def print(*lines: str) -> None:
    """Print lines to standard output; a line end within one becomes a blank."""
    _print(out(), lines)


def error(*lines: str) -> None:
    """Print lines to standard error."""
    _print(err(), lines)


def _print(stream: Stream, lines: Iterable[str]) -> None:
    stream.write("".join(f"{one_line(line)}\n" for line in lines))
    stream.flush()


def warn(faults: Iterable[str]) -> None:
    """Print faults of results as warnings, a line each, to standard error."""
    _print(err(), (f"warning: {fault}" for fault in faults))


def print_document(text: str) -> None:
    """Print a document that may be redirected into a file: it keeps its tabs and line ends."""
    stream = out()
    stream.write(text if text.endswith("\n") or not text else f"{text}\n")
    stream.flush()


def print_json(data: object) -> None:
    """Print data as JSON, or text that is JSON; JSON escapes all that is not printable, but for one
    character."""
    text = (
        data
        if isinstance(data, str)
        else json.dumps(data, indent=1, default=lambda each: each.isoformat())
    )
    print_document(text.replace("\x7f", "\\u007f"))


def print_csv(rows: Sequence[Mapping[str, object]]) -> None:
    """Print rows as CSV, with JSON for lists and objects; no text is a formula to a spreadsheet."""
    made = io.StringIO()
    writer = csv.writer(made, lineterminator="\n")
    writer.writerow(rows[0] if rows else ())
    writer.writerows(map(_csv_cell, row.values()) for row in rows)
    print_document(made.getvalue())


def _csv_cell(value: object) -> object:
    if isinstance(value, list | tuple | dict):
        return json.dumps(value)
    is_formula = isinstance(value, str) and value.startswith(
        ("=", "+", "-", "@", "\t", "\r")
    )
    return f"'{value}" if is_formula else value


def print_rich(parts: Iterable[RenderableType]) -> None:
    """Print tables and sentences of Rich to standard output; a sentence is one line."""
    from rich.text import Text  # noqa: PLC0415  (as in `rich_console`)

    made = rich_console()
    for part in parts:
        if isinstance(part, Text):
            part.plain = part.plain.replace("\n", " ")
            # Sentences are left to the terminal to wrap, so that they can be searched and copied.
            made.print(part, soft_wrap=True)
        else:
            made.print(part)


def rich_console(stream: Stream | None = None) -> Console:
    """Return a console of Rich for tables and progress; it reads no markup, and prints printable characters
    only."""
    from rich.console import Console, ConsoleOptions, RenderHook, RenderResult  # noqa: PLC0415  (slow to import)
    from rich.segment import Segment  # noqa: PLC0415  (slow to import)

    class Printable:
        def __init__(self, inner: Any) -> None:
            self.inner = inner

        def __rich_console__(
            self, console: Console, options: ConsoleOptions
        ) -> RenderResult:
            for segment in console.render(self.inner, options):
                # Rich marks what moves the cursor, as progress does.
                yield (
                    segment
                    if segment.control
                    else Segment(printable(segment.text), segment.style)
                )

    class Hook(RenderHook):
        def process_renderables(self, renderables: list[Any]) -> list[Any]:
            return [Printable(each) for each in renderables]

    stream = stream or out()
    # A terminal has a width, and COLUMNS may set one; for a file or a pipe it fits the tables.
    has_width = stream.isatty() or "COLUMNS" in os.environ
    file: Any = Stream(
        stream.raw, stream.name, styled=True
    )  # a text stream, though not of a class of typing
    made = Console(
        file=file,
        width=None if has_width else 160,
        highlight=False,
        markup=False,
        emoji=False,
    )
    made.push_render_hook(Hook())
    return made
