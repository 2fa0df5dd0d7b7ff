# SPDX-License-Identifier: BSD-3-Clause
"""Values and names as users read them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

_BLOCKS = "▁▂▃▄▅▆▇█"


def size_text(size_B: int) -> str:
    """Return a message size in bytes, short: K is 1024 and M is 1024 * 1024.

    >>> [size_text(size) for size in (0, 512, 1024, 65536, 4194304)]
    ['0', '512', '1K', '64K', '4M']
    """
    for unit, factor in (("M", 1024**2), ("K", 1024)):
        if size_B and size_B % factor == 0:
            return f"{size_B // factor}{unit}"
    return str(size_B)


def message_size_text(size_B: int) -> str:
    """Return a message size with its unit.

    >>> [message_size_text(size) for size in (0, 512, 1024, 4194304)]
    ['0 B', '512 B', '1 KiB', '4 MiB']
    """
    short = size_text(size_B)
    return f"{short} B" if short.isdecimal() else f"{short[:-1]} {short[-1]}iB"


def sizes_text(sizes_B: Sequence[int]) -> str:
    """Return message sizes in words, as in ``8 16 B`` or ``5 sizes 1 .. 16 B``; nothing for none."""
    texts = [size_text(size) for size in sizes_B]
    if len(texts) > 4:
        texts = [f"{len(texts)} sizes {texts[0]} .. {texts[-1]}"]
    return " ".join([*texts, "B"]) if texts else ""


def bytes_text(count_B: float) -> str:
    """Return a number of bytes in words, with three digits and factors of 1000, as rates have them.

    >>> [bytes_text(count) for count in (0, 999, 1_100_000_000)]
    ['0 B', '999 B', '1.1 GB']
    """
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count_B >= factor:
            return f"{count_B / factor:.3g} {unit}"
    return f"{count_B:.0f} B"


def count_text(count: int, noun: str, plural: str = "") -> str:
    """Return a number of things in words.

    :param plural: of the noun, where it is not formed by an s.

    >>> count_text(1, "host"), count_text(3, "host"), count_text(2, "entry", "entries")
    ('1 host', '3 hosts', '2 entries')
    """
    return f"{count} {plural_text(count, noun, plural)}"


def plural_text(count: int, noun: str, plural: str = "") -> str:
    """Return a noun alone, in the number that a count asks for.

    >>> plural_text(1, "node"), plural_text(0, "node")
    ('node', 'nodes')
    """
    return noun if count == 1 else plural or f"{noun}s"


def names_text(names: Sequence[str], most: int = 3, separator: str = ", ") -> str:
    """Return the first names of a list, and how many more there are.

    >>> names_text(["a", "b"], 2), names_text(["a", "b", "c", "d", "e"], 2)
    ('a, b', 'a, b and 3 more')
    """
    shown = separator.join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def first_of(lines: Sequence[str], hint: str = "", most: int = 6) -> list[str]:
    """Return at most so many lines: if there are more, the last is a count of those left out.

    :param hint: where to find these.

    >>> first_of(["a", "b", "c"], ", see below", 2)
    ['a', 'and 2 more, see below']
    """
    if len(lines) <= most:
        return list(lines)
    return [*lines[: most - 1], f"and {len(lines) - most + 1} more{hint}"]


def sentence(text: str, most_words: int = 30) -> str:
    """Return a text, or its first clauses that have at most so many words together, without what follows.

    >>> sentence("n3 sends at 0.5: look at its cable, or the adapter", 7), sentence("a b c d", 3)
    ('n3 sends at 0.5', 'a b c ...')
    """
    words = text.split()
    if len(words) <= most_words:
        return text
    kept = " ".join(words[:most_words])
    end = max(kept.rfind(mark) for mark in ("; ", ": ", ", "))
    return kept[:end] if end > len(kept) // 3 else f"{kept} ..."


def shortened(text: str, longest: int) -> str:
    """Return a text of at most so many characters; what is cut off ends in dots."""
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def value_text(value: float) -> str:
    """Return a value with four significant digits, without an exponent."""
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:.0f}"
    return f"{value:.4g}" if abs(value) >= 1e-3 else f"{value:.3g}"


def duration_text(seconds: float) -> str:
    """Return a duration in words.

    >>> [duration_text(s) for s in (3.6, 214, 7260)]
    ['4 s', '3 min 34 s', '2 h 1 min']
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def range_text(low: float | None, high: float | None) -> str:
    """Return bounds, of which each may be missing; empty without any.

    >>> range_text(1, 2), range_text(None, 2), range_text(1, None)
    ('1 to 2', 'at most 2', 'at least 1')
    """
    if low is not None and high is not None:
        return f"{value_text(low)} to {value_text(high)}"
    if low is not None:
        return f"at least {value_text(low)}"
    return "" if high is None else f"at most {value_text(high)}"


def printable(text: str) -> str:
    """Return untrusted text in which nothing steers a terminal: what does not print is ``?``, but for line
    ends.

    That goes for control characters, half surrogate pairs, and what turns or hides text, as marks of
    direction do.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)


def uncoloured(text: str) -> str:
    """Return the text that a program prints for a terminal without its colours.

    >>> uncoloured("\x1b[31merror\x1b[0m: no")
    'error: no'
    """
    return re.sub(r"\x1b\[[\d;]*m", "", text)


def one_line(text: str) -> str:
    """Return untrusted text as one printable line, so that none of it is taken for a line of ours.

    >>> one_line("n1\\r\\nerror: n2\\tis\\x1b[31m slow\\n")
    'n1 error: n2 is?[31m slow'
    """
    return printable(" ".join(text.splitlines()).replace("\t", " "))


@lru_cache(maxsize=2**16)  # a report has the same text many times
def clean(text: object) -> str:
    """Return untrusted text as one printable line whose words are set apart by single blanks.

    >>> clean("a\\n  b\\x07")
    'a b?'
    """
    return printable(" ".join(str(text).split()))


#: What is markup of Markdown within a line, in GitHub's and GitLab's kind too; an underscore within a word is
#: none.
_MARKUP = re.compile(r"[\\`*\[\]{}<>|#&~$]|(?<![^\W_])_|_(?![^\W_])")
#: What begins a list, a rule or a heading where it begins a line.
_BLOCK = re.compile(r"^(\d{0,9})([-+=.)])(?=[-=\s]|$)")


def markdown(text: str) -> str:
    """Return untrusted text as one line of Markdown that is nothing but text: no markup, no link, no mention.

    Renderers and chats detect addresses, emoji and names even after backslashes. So the marks of addresses
    and emoji become entities, and a name is set apart from its ``@``.

    >>> markdown("<b> my_node @everyone http://a.b/ www.a.b :tada:")
    '\\\\<b\\\\> my_node @ everyone http&#58;//a.b/ www&#46;a.b &#58;tada:'
    """
    line = _MARKUP.sub(r"\\\g<0>", " ".join(one_line(text).split()))
    line = _BLOCK.sub(r"\1\\\2", line)
    line = re.sub(r":(?=//|[\w+-]*[a-z][\w+-]*:)", "&#58;", line)
    line = re.sub(r"(?i)(www)\.", r"\1&#46;", line)
    return re.sub(r"@(?=\S)", "@ ", line)


def test_text(check: str, parameters: Mapping[str, object] | str | None) -> str:
    """Return the name of a test without its layout, which has its own column: its check and its parameters.

    :param parameters: by name, also as JSON text.

    >>> test_text("Queue", '{"queue_depth": 8}')
    'Queue 8'
    """
    own: Mapping[str, object] = (
        json.loads(parameters) if isinstance(parameters, str) else parameters or {}
    )
    return " ".join([check, *map(str, own.values())])


def signed(value: float) -> str:
    """Return a change with its sign and three significant digits.

    >>> [signed(value) for value in (9.123, -0.04, 1e-14)]
    ['+9.12', '-0.04', '0']
    """
    value = round(value, 9)
    text = f"{value:+.3g}" if abs(value) < 1000 else f"{value:+.0f}"
    return "0" if float(text) == 0 else text


def sparkline(values: Sequence[float], width: int) -> str:
    """Return a curve in block characters, on a logarithmic scale where all its values are positive.

    :param width: how many characters it may have; of more points it has every second, third, ...

    >>> sparkline([1, 2, 4, 8], 8), sparkline([3, 3, 3], 2), sparkline([1], 0)
    ('▁▃▆█', '▄▄', '')
    """
    if width < 2 or len(values) < 2:
        return ""
    if len(values) > width:
        values = [
            values[round(at * (len(values) - 1) / (width - 1))] for at in range(width)
        ]
    heights = [math.log(value) for value in values] if min(values) > 0 else list(values)
    low, high = min(heights), max(heights)
    if not high > low:
        return "▄" * len(values)
    return "".join(
        _BLOCKS[round((height - low) / (high - low) * (len(_BLOCKS) - 1))]
        for height in heights
    )
