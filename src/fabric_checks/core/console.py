# SPDX-License-Identifier: BSD-3-Clause
"""The door: all that the command prints goes through here, and nothing that a record says does more than be read.

Names of systems, hosts and metrics, messages of programs and of the operating system, paths and options are text of
others. Lines are printed one by one, so that no text can pretend to be a line of its own (:func:`say`, :func:`show`);
documents keep their line ends (:func:`document`); what is no printable character is ``?`` everywhere, also in what
libraries print, as both standard streams are replaced (:func:`opened`).

The streams also see to what a terminal, a pipe or a disk does to them. A reader that has seen enough, such as `head`,
does not change how a command ends; a standard output that is closed or full does.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO

from fabric_checks.core.text import one_line, printable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

#: What stands for the frames of tables and the lines of plots where only ASCII can be printed; all else is ``?``.
_ASCII = {
    ord(char): ascii_char
    for chars, ascii_char in (
        ("─┄┈╌", "-"),
        ("━═", "="),
        ("│┃║┆┊", "|"),
        ("┌┐└┘├┤┬┴┼╞╡╪╫", "+"),
        ("•", "*"),
        ("…", "."),
        # Blocks of small curves, the lowest first, and of bars.
        *zip("▁▂▃▄▅▆▇█", "_.-~=+*#", strict=True),
        ("━╸╺", "-"),
    )
    for char in chars
}
_ERRORS = "fabric-checks.ascii"


def _lookalike(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end].translate(_ASCII)
    return "".join(c if c.isascii() else "?" for c in text), error.end


codecs.register_error(_ERRORS, _lookalike)


class Stream(io.TextIOBase):
    """A standard stream that prints what is printable, in the characters that its terminal has.

    :param raw: the stream itself; None if the process was started with it closed.
    :param name: what it is called in messages; None for standard error, whose own faults cannot be told.
    :param styled: whether escape sequences may pass: for Rich, whose texts are looked at before it adds them.
    """

    def __init__(self, raw: TextIO | None, name: str | None, *, styled: bool = False) -> None:
        super().__init__()
        self.raw, self.name, self._styled = raw, name, styled
        self.has_reader = True
        self._fault: OSError | None = None

    @property
    def buffer(self) -> io.BufferedIOBase:
        """The binary stream for bytes of UTF-8, as click writes them."""
        return _Bytes(self)

    @property
    def encoding(self) -> str:  # type: ignore[override]  # the base class has an attribute that cannot be set
        """The encoding of the characters."""
        return getattr(self.raw, "encoding", None) or "utf-8"

    def styled(self) -> Stream:
        """Return the same stream for Rich."""
        return Stream(self.raw, self.name, styled=True)

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

    def write(self, text: str) -> int:
        """Print text.

        :raises OSError: if standard output cannot be written.
        """
        if not isinstance(text, str):
            raise TypeError(f"text is printed, not {type(text).__name__}")
        if not text:
            return 0  # click tries streams like that
        safe = text if self._styled else "\t".join(printable(part) for part in text.split("\t"))
        self._try(lambda raw: raw.write(safe.encode(self.encoding, _ERRORS).decode(self.encoding)))
        return len(text)

    def write_utf8(self, text: str) -> None:
        """Print a printable document, in UTF-8 whatever the terminal has: who redirects it gets a whole file.

        :raises OSError: if standard output cannot be written.
        """
        buffer = getattr(self.raw, "buffer", None)
        if buffer is None:
            self._try(lambda raw: raw.write(text))
            return
        self.flush()
        self._try(lambda _: buffer.write(text.encode("utf-8", "replace")))

    def flush(self) -> None:
        """See that what was printed is out.

        :raises OSError: if standard output cannot be written.
        """
        if self.raw is not None:
            self._try(lambda raw: raw.flush())

    def _try(self, step: Callable[[TextIO], object]) -> None:
        if self._fault is not None:
            raise self._fault  # once more, should somebody have caught it
        try:
            if self.raw is None:
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            step(self.raw)
        except BrokenPipeError:
            self.has_reader = False
            self._turn_away()
        except OSError as error:
            self._turn_away()
            if self.name is not None:
                self._fault = OSError(error.errno, error.strerror, self.name)
                raise self._fault from None

    def _turn_away(self) -> None:
        """Let what is still to be printed go nowhere: it would fail once more when the process ends."""
        with suppress(OSError, AttributeError):
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self.fileno())
            os.close(null)


class _Bytes(io.BufferedIOBase):
    def __init__(self, stream: Stream) -> None:
        super().__init__()
        self._stream = stream

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._stream.write(bytes(data).decode("utf-8", "replace"))
        return len(data)

    def flush(self) -> None:
        self._stream.flush()


@contextmanager
def opened() -> Iterator[None]:
    """Let all that is printed go through here."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = out(), err()
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def out() -> Stream:
    """Return standard output."""
    return sys.stdout if isinstance(sys.stdout, Stream) else Stream(sys.stdout, "standard output")


def err() -> Stream:
    """Return standard error."""
    return sys.stderr if isinstance(sys.stderr, Stream) else Stream(sys.stderr, None)


def hold_descriptors() -> None:
    """Take the descriptors of standard streams that are closed, or the next file that is opened would be one of them.

    What is printed to it then would be written there.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest that is free


def print(*lines: str, to: Stream | None = None) -> None:
    """Print lines, to standard output if nothing else is said; a line end within one is a blank."""
    stream = to or out()
    stream.write("".join(f"{one_line(line)}\n" for line in lines))
    stream.flush()


def error(*lines: str) -> None:
    """Print lines to standard error."""
    print(*lines, to=err())


def warn(faults: Iterable[str]) -> None:
    """Print what was wrong with results, a line each, to standard error."""
    error(*(f"warning: {fault}" for fault in faults))


def print_document(text: str) -> None:
    """Print a document that may be redirected into a file: it keeps its tabs and line ends."""
    _document("\t".join(printable(part) for part in text.split("\t")))


def print_json(text: str) -> None:
    """Print JSON, whose data is unchanged: JSON escapes all that is not printable, but for one character."""
    _document(text.replace("\x7f", "\\u007f"))


def _document(text: str) -> None:
    stream = out()
    stream.write_utf8(text if text.endswith("\n") or not text else f"{text}\n")
    stream.flush()


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
    """Return what Rich prints tables and progress with; it reads no markup, and prints what is printable only."""
    # Slow to import, and not every command prints a table.
    from rich.console import Console, ConsoleOptions, RenderHook, RenderResult  # noqa: PLC0415  (slow to import)
    from rich.segment import Segment  # noqa: PLC0415  (slow to import)

    class Printable:
        def __init__(self, inner: Any) -> None:
            self.inner = inner

        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            for segment in console.render(self.inner, options):
                # What moves the cursor, as progress does, is marked as such by Rich.
                yield segment if segment.control else Segment(printable(segment.text), segment.style)

    class Hook(RenderHook):
        def process_renderables(self, renderables: list[Any]) -> list[Any]:
            return [Printable(each) for each in renderables]

    stream = stream or out()
    # A terminal has a width, and COLUMNS may give one; a file or a pipe gets one that fits the tables.
    has_width = stream.isatty() or "COLUMNS" in os.environ
    made = Console(file=stream.styled(), width=None if has_width else 160, highlight=False, markup=False, emoji=False)  # type: ignore[arg-type]  # a text stream, though not of a class of typing
    made.push_render_hook(Hook())
    return made
