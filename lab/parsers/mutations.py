# SPDX-License-Identifier: BSD-3-Clause
"""Random changes of outputs, as damage, other writers and other programs make them."""

import re

#: What may stand where a number stood.
TOKENS = (
    "nan", "-nan", "inf", "0", "0.00", "-0.00", "-1.00", "1e5", "1_0.00", "1,00", ".50", "5.", "007.00", "1.0", "1.000",
    "9" * 30, "9" * 400, "9" * 5000, "1e400", "0x10", "Pass", "Fail", "---", "٣", "time-out.", "*****", "timeout",
    "1.00.00",
)  # fmt: skip
#: Characters that are put in.
CHARACTERS = "0123456789.-+eE#:|,[]()<>/ \t\n\r\x00\x0b\x1b\x85\xa0\u2028\ufeffaZ_%é٣"
#: Lines that are put in.
LINES = (
    "", "#", "-----------", "----- -----", "2026-01-01 12:00:03", "0: done", "3 processes", "nan nan", "4 5.00", "8",
    "# OSU MPI Bandwidth Test v7.4", "# OSU MPI Latency Test v7.4", "# Benchmarking Sendrecv ", "# #processes = 2 ",
    "# Size      Bandwidth (MB/s)", "# Size          Latency (us)", "# All processes entering MPI_Finalize",
    "# fabric-checks rotate 1", "# complete: 3 rows", "# columns: size_B a b", "rotate: round 3 of 9, about 5 s left",
    "Loop time of 1 on 2 procs for 100 steps with 32000 atoms", "srun: error: node1: task 0: Killed", "# ranks: 9",
)  # fmt: skip
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_WORD = re.compile(r"[^\W\d][\w./-]*")


def mutated(text, random, others):
    """Return a text with one to four random changes.

    :param others: whole outputs, of which lines are taken, or all of it.
    """
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 4))):
        text = random.choice(CHANGES)(text, random, others)
    return text


def _character_lost(text, random, others):
    at = random.randrange(len(text) + 1)
    return text[:at] + text[at + 1 :]


def _character_more(text, random, others):
    at = random.randrange(len(text) + 1)
    return text[:at] + random.choice(CHARACTERS) + text[at:]


def _character_other(text, random, others):
    at = random.randrange(len(text) + 1)
    return text[:at] + random.choice(CHARACTERS) + text[at + 1 :]


def _number_other(text, random, others):
    """Replace a number, now and then by one that is nearly it."""
    found = list(_NUMBER.finditer(text))
    if not found:
        return text
    match = random.choice(found)
    kind = random.randrange(3)
    if kind == 0:
        token = random.choice(TOKENS)
    elif kind == 1:
        token = random.choice(found)[0]
    else:
        at = random.randrange(len(match[0]))
        token = match[0][:at] + random.choice("0123456789") + match[0][at + 1 :]
    return text[: match.start()] + token + text[match.end() :]


def _word_other(text, random, others):
    found = list(_WORD.finditer(text))
    if not found:
        return text
    match, other = random.choice(found), random.choice(found)
    return text[: match.start()] + random.choice((other[0], "", match[0].upper(), "Foo")) + text[match.end() :]


def _line_lost(text, random, others):
    lines = text.splitlines(keepends=True)
    if lines:
        del lines[random.randrange(len(lines))]
    return "".join(lines)


def _line_twice(text, random, others):
    lines = text.splitlines(keepends=True)
    if lines:
        lines.insert(random.randrange(len(lines) + 1), random.choice(lines))
    return "".join(lines)


def _lines_exchanged(text, random, others):
    lines = text.splitlines(keepends=True)
    if lines:
        one, two = random.randrange(len(lines)), random.randrange(len(lines))
        lines[one], lines[two] = lines[two], lines[one]
    return "".join(lines)


def _line_more(text, random, others):
    lines = text.splitlines(keepends=True)
    foreign = random.choice(random.choice(others).splitlines() or [""])
    lines.insert(random.randrange(len(lines) + 1), random.choice((foreign, random.choice(LINES))) + "\n")
    return "".join(lines)


def _cells_exchanged(text, random, others):
    lines = text.splitlines(keepends=True)
    if not lines:
        return text
    at = random.randrange(len(lines))
    parts = re.split(r"(\s+)", lines[at])
    if len(parts) > 2:
        one, two = (random.randrange((len(parts) + 1) // 2) * 2 for _ in range(2))
        parts[one], parts[two] = parts[two], parts[one]
    lines[at] = "".join(parts)
    return "".join(lines)


def _cut(text, random, others):
    return text[: random.randrange(len(text) + 1)]


def _head_lost(text, random, others):
    return text[random.randrange(min(len(text), 400) + 1) :]


def _with_another(text, random, others):
    other = random.choice((text, random.choice(others)))
    at = random.choice((0, len(text), random.randrange(len(text) + 1)))
    return text[:at] + other + text[at:]


def _marked(text, random, others):
    kind = random.randrange(4)
    if kind == 0:
        return "\ufeff" + text
    before = ("\x1b[0m", "[1,0]<stdout>:", "0: ")[kind - 1]
    return "".join(before + line for line in text.splitlines(keepends=True))


_SMALL = (
    _character_lost, _character_more, _character_other, _number_other, _number_other, _number_other, _word_other,
    _line_lost, _line_twice, _lines_exchanged, _line_more, _cells_exchanged, _cells_exchanged,
)  # fmt: skip
#: The changes, the small ones more often.
CHANGES = (*_SMALL, *_SMALL, _cut, _head_lost, _with_another, _marked)
