# SPDX-License-Identifier: BSD-3-Clause
"""Damage outputs, and change them harmlessly: what do parsers refuse, and what do they accept wrongly?

    python -m lab.parsers.damage [PROGRAM ...] --trials 200000 --seed 1

A trial damages a recorded output in one way, at times in two or three. If a parser still finds other values
than in the whole output, contradictions.py says whether the damaged one contradicts itself; of tables of
pairs, pair_oracle.py whether these values are in it. Parsers are called, not looked at.
"""

import argparse
import contextlib
import dataclasses
import re
import signal
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping
from random import Random

import numpy as np

from fabric_checks.core.errors import OutputError
from lab.parsers import pair_oracle
from lab.parsers.contradictions import ORACLES, contradictions
from tests.parsers.corpus import OUTPUTS

# ----------------------------------------------------------------------------------------------------- damage

NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]\d+)?(?![\w.])")
MARK = "zq\x1b[31mzq"
ODD = ["nan", "inf", "-inf", "1e999", "-0", "0", "0x1F", "1_0", "1,5", "\u0663", "\uff11\uff12", "1e", ".",
       "1.2.3", "+", "-", "*****", "?"]  # fmt: skip
CONTROL = [
    "\0",
    "\x1b",
    "\7",
    "\b",
    "\v",
    "\f",
    "\r",
    "\x85",
    "\u2028",
    "\x1b[2J",
    "\x7f",
    "\x9b31m",
    "\u202e",
    MARK,
]
ENCODING = ["\ufffd", "\udc80", "Ã©", "\xa0", "\ufeff", "\u2212", "µ", "\u200b"]
UNITS = {"us": "ms", "usec": "msec", "MB/s": "GB/s", "MBps": "GBps", "Mbytes": "Kbytes", " s": " ms",
         "bytes": "KiB", "ns/day": "fs/day", "seconds": "minutes", "katom": "Matom",
         "size_B": "size_KiB", "%": ""}  # fmt: skip


def _with(text, at, new, old=0):
    return text[:at] + new + text[at + old :]


def _point_moved(rng, n):
    digits = n.replace(".", "")
    return _with(digits, rng.randint(1, len(digits)), ".").rstrip(".")


NUMBERS = {
    "digit lost": lambda rng, n: _with(n, rng.randrange(len(n)), "", 1),
    "digit added": lambda rng, n: _with(
        n, rng.randint(0, len(n)), rng.choice("0123456789")
    ),
    "digit other": lambda rng, n: _with(
        n, rng.randrange(len(n)), rng.choice("0123456789"), 1
    ),
    "digits exchanged": lambda rng, n: _with(
        n, (at := rng.randrange(len(n))), n[at : at + 2][::-1], 2
    ),
    "point moved": _point_moved,
    "number torn": lambda rng, n: _with(
        n, rng.randint(0, len(n)), rng.choice([" ", "  ", "\t", "\n", "\n\n"])
    ),
    "number lost": lambda rng, n: "",
    "number scaled": lambda rng, n: (
        f"{float(n) * rng.choice([0.001, 0.1, 0.5, 2, 10, 1000, 1e6]):.6g}"
    ),
    "sign changed": lambda rng, n: n[1:] if n[0] == "-" else "-" + n,
    "number odd": lambda rng, n: rng.choice(ODD),
    "number huge": lambda rng, n: n + rng.choice("0139") * rng.choice([30, 400, 5000]),
}


def _torn_into_each_other(rng, lines, _):
    """Two writers: the rest of a line comes after the next one."""
    cut = rng.randint(0, len(lines[0]))
    return [lines[0][:cut] + lines[1], lines[0][cut:]]


# The number of lines, 0: some; and what becomes of them and of as many of another output.
LINES = {
    "lines lost": (0, lambda rng, lines, other: []),
    "lines doubled": (0, lambda rng, lines, other: lines * 2),
    "lines of another": (0, lambda rng, lines, other: other),
    "lines shuffled": (0, lambda rng, lines, other: rng.sample(lines, len(lines))),
    "line cut": (
        1,
        lambda rng, lines, other: [lines[0][: rng.randint(0, len(lines[0]))]],
    ),
    "line without start": (
        1,
        lambda rng, lines, other: [lines[0][rng.randint(0, len(lines[0])) :]],
    ),
    "line between": (
        1,
        lambda rng, lines, other: [
            rng.choice([*lines, *other, "1 2 3", MARK, "9" * 5000]),
            *lines,
        ],
    ),
    "lines joined": (2, lambda rng, lines, other: [rng.choice(["", " "]).join(lines)]),
    "lines exchanged": (2, lambda rng, lines, other: lines[::-1]),
    "lines torn into each other": (2, _torn_into_each_other),
}


def _interleaved(rng, text, _, other):
    found, rest = [], [text.split("\n"), other.split("\n")]
    while rest[0] and rest[1]:
        side = rest[rng.random() < 0.3]
        found += [side.pop(0) for _ in range(min(len(side), rng.randint(1, 8)))]
    return "\n".join(found + rest[0] + rest[1])


def _columns_exchanged(rng, text, *_):
    """Exchange two columns of all rows that are as wide as a row, or two words of a line, as of titles."""
    lines = [re.split(r"(\S+)", line) for line in text.split("\n")]
    one = rng.choice([line for line in lines if len(line) > 3])
    a, b = (2 * i + 1 for i in rng.sample(range(len(one) // 2), 2))
    all_rows = NUMBER.fullmatch(one[1]) and rng.random() < 0.5
    for line in lines:
        if line is one or (all_rows and len(line) == len(one) and line[1] != "#"):
            line[a], line[b] = line[b], line[a]
    return "\n".join("".join(line) for line in lines)


def _unit_changed(rng, text, *_):
    unit = rng.choice([unit for unit in UNITS if unit in text])
    place = rng.choice([found.start() for found in re.finditer(re.escape(unit), text)])
    return _with(text, place, UNITS[unit], len(unit))


def _letter_changed(rng, text, *_):
    at = rng.choice([i for i, c in enumerate(text) if c.isalpha()])
    return _with(text, at, rng.choice(["", "x", text[at] * 2, text[at].swapcase()]), 1)


TEXTS = {
    "interleaved": _interleaved,
    "columns exchanged": _columns_exchanged,
    "cut": lambda rng, text, at, _: text[:at],
    "without start": lambda rng, text, at, _: text[at:],
    "head and tail": lambda rng, text, at, other: (
        text[: text.find("\n", at) + 1] + other[other.find("\n", at) + 1 :]
    ),
    "head and any tail": lambda rng, text, at, other: (
        text[:at] + other[rng.randrange(len(other)) :]
    ),
    "hole": lambda rng, text, at, _: _with(
        text, at, "", rng.choice([1, 2, 10, 80, 512])
    ),
    "unit changed": _unit_changed,
    "letter changed": _letter_changed,
    "control character": lambda rng, text, at, _: _with(
        text, at, rng.choice(CONTROL), rng.randint(0, 1)
    ),
    "encoding": lambda rng, text, at, _: _with(text, at, rng.choice(ENCODING), 1),
}


def damaged(rng, text, other):
    """Return a text damaged in one way, and the way; `other` is an output of the same program."""
    way = rng.choice([*NUMBERS, "number other", *LINES, *TEXTS])
    if way in LINES:
        count, change = LINES[way]
        lines, foreign = text.split("\n"), other.split("\n")
        first = rng.randrange(len(lines))
        last = first + (count or rng.choice([1, 1, 1, 2, 5, len(lines)]))
        return (
            "\n".join(
                lines[:first]
                + change(rng, lines[first:last], foreign[first:last])
                + lines[last:]
            ),
            way,
        )
    if way in TEXTS:
        return TEXTS[way](rng, text, rng.randrange(len(text)), other), way
    found = list(NUMBER.finditer(text))
    one = rng.choice(
        found if rng.random() < 0.5 else found[len(found) // 3 :]
    )  # more often of the rows than of the head
    new = NUMBERS[way](rng, one[0]) if way in NUMBERS else rng.choice(found)[0]
    return _with(text, one.start(), new, len(one[0])), way


def damaged_often(rng, text, others):
    """Return a text damaged once, at times two or three times, and the ways; `others` are outputs of the
    program."""
    ways = []
    for _ in range(rng.choice([1, 1, 1, 1, 1, 1, 2, 3])):
        with contextlib.suppress(
            IndexError, ValueError
        ):  # nothing there to damage in this way
            text, way = damaged(rng, text, rng.choice(others))
            ways.append(way)
    return text, ways


# -------------------------------------------------------------------------------------------------- harmless

STRAY = (
    (
        "[1732600000.123456] [n1:4242 :0]     ucp_context.c:1774 UCX  WARN  UCP version is incompatible,"
        " required: 1.15"
    ),
    "libfabric:4242:1732600000::core:core:cuda_hmem_init():456<warn> no CUDA devices",
    "[n1:4242] PMIX ERROR: OUT-OF-RESOURCE in file gds_shmem2.c at line 1182",
    "n1.4242 hfi_userinit: assign_context command failed: Device or resource busy",
    "srun: warning: can't run 1 processes on 2 nodes, setting nnodes to 1",
    "WARNING: There was an error initializing an OpenFabrics device.",
)
BEFORE = "Loading mpich/5.0.2\n  Loading requirement: libfabric/1.22.0\nsrun: job 4242 queued and waiting\n\n"
BEHIND = "\nsrun: Job step 4242.0 finished\nreal 0m12.345s\nResource usage: 42 %\n"


def _tagged(tag):
    return lambda text: re.sub(r"^", tag, text.rstrip("\n"), flags=re.MULTILINE) + "\n"


def _between(line):
    """Put a line in three places: of the head, of the middle and of the end."""

    def change(text):
        lines = text.split("\n")
        for at in (len(lines) * 9 // 10, len(lines) // 2, len(lines) // 5):
            lines.insert(at, line)
        return "\n".join(lines)

    return change


HARMLESS = {
    "blanks": lambda text: text.replace("\n", "  \n"),
    "tabs": lambda text: text.replace("\n", "\t\n"),
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "BOM": lambda text: "\ufeff" + text,
    "colours": lambda text: re.sub(
        r"^(.+)$", "\x1b[32m\\1\x1b[0m", text, flags=re.MULTILINE
    ),
    "lines before": lambda text: BEFORE + text,
    "lines behind": lambda text: text + BEHIND,
    **{
        f"tag {tag!r}": _tagged(tag)
        for tag in ("0: ", "  0: ", "[0] ", "[1,0]<stdout>:", "[1,0]<stdout>: ")
    },
    **{f"between: {line[:12]}": _between(line) for line in STRAY},
}

# ----------------------------------------------------------------------------------------------------- trials


def values(result):
    """Return what a parser found, without the numbers of lines, and what no metric is made of."""
    if isinstance(result, (float, str, int)):
        return result
    if dataclasses.is_dataclass(result) and not isinstance(result, type):
        names = [
            field.name
            for field in dataclasses.fields(result)
            if field.name != "line" and field.compare
        ]
        return {name: values(getattr(result, name)) for name in names}
    if hasattr(result, "_asdict"):
        return {
            name: values(value)
            for name, value in result._asdict().items()
            if name != "line"
        }
    if isinstance(result, Mapping):
        return {
            key: values(result[key]) for key in sorted(result, key=str)
        }  # a mapping has no order
    if isinstance(result, np.ndarray):
        return result.tolist()
    return (
        [values(item) for item in result]
        if isinstance(result, (list, tuple))
        else result
    )


class Hung(BaseException):
    """A parser took more than ten seconds of CPU."""


def _hang(*_):
    raise Hung


def parsed(whole, text):
    """Return how a parser took a text, and the sentence, or its values without and with those of the head."""
    signal.setitimer(signal.ITIMER_VIRTUAL, 10)
    try:
        found = values(whole.parse(text))
        headless = (
            {**found, "header": None}
            if isinstance(found, dict) and "header" in found
            else found
        )
        return "accepted", (repr(headless), repr(found))  # a NaN differs from itself
    except OutputError as error:
        return "refused", str(error)
    except (Exception, Hung) as error:  # that is what is looked for
        return "crash", f"{type(error).__name__}: {str(error)[:100]!r}"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def is_bad_message(message, text):
    """Whether a message has text of the output that is not quoted, not printable, or longer than 200
    characters."""
    bare = re.sub(
        r"(?<!\w)'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", "", message
    )  # not the apostrophe of a word
    pieces = (message[i : i + 201] for i in range(max(len(message) - 200, 0)))
    return (
        not message.isprintable()
        or "zq" in bare
        or any(piece in text for piece in pieces)
    )


PROGRAMS = (*ORACLES, *pair_oracle.READERS)
#: Outputs that are files, which no launcher adds lines to.
FILES = ("csv",)


def outputs(program):
    return list(OUTPUTS[program]())


def trials(program, count, seed, *, harmless=True):
    """Return of each trial the outcome, the damage, the output's name, and the sentence and line that belong
    to it."""
    rng = Random(f"{program} {seed}")
    wholes = [(whole, parsed(whole, whole.text)[1]) for whole in outputs(program)]
    for whole, right in wholes:
        if found := against(program, whole, whole.text):
            sys.exit(
                f"{program} {whole.name}: the oracle is wrong of a whole output: {found}"
            )
        for way, change in HARMLESS.items() if harmless else ():
            if program in FILES and way.startswith("lines "):
                continue
            outcome, result = parsed(whole, change(whole.text))
            is_read = outcome == "accepted" and result[0] == right[0]
            sentence = "other values" if outcome == "accepted" else str(result)
            yield (
                ("harmless", way, whole.name, "")
                if is_read
                else ("harmless not read", way, whole.name, sentence)
            )
    while count > 0:
        whole, right = rng.choice(wholes)
        text, ways = damaged_often(rng, whole.text, [each.text for each, _ in wholes])
        if text != whole.text:
            count -= 1
            yield trial(program, whole, right, text, " + ".join(ways))


def against(program, whole, text):
    """Return what speaks against a text that is accepted."""
    if program in ORACLES:
        return contradictions(program, text)
    return pair_oracle.contradictions(program, text, whole.parse(text))


def trial(program, whole, right, text, way):
    outcome, found = parsed(whole, text)
    if outcome == "refused" and is_bad_message(found, text):
        return "bad message", way, whole.name, repr(found[:300])
    if outcome != "accepted":
        return outcome, way, whole.name, str(found)
    if found == right:
        return "same values", way, whole.name, ""
    claims = against(program, whole, text)
    kinds = {sentence.partition(":")[0] for sentence in claims}
    kind = (
        "contradicting"
        if kinds - {"layout", "unread"}
        else "layout"
        if "layout" in kinds
        else "unread"
    )
    kind = kind if kinds else "not tellable"
    if found[0] == right[0]:
        kind = "head contradicting" if kinds - {"layout", "unread"} else "head only"
    return kind, way, whole.name, f"{claims[:2]} {difference(whole.text, text)}"


def difference(whole, text):
    """Return the first line that differs, of both."""
    a, b = whole.split("\n"), text.split("\n")
    at = next(
        (i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y),
        min(len(a), len(b)),
    )
    return f"line {at + 1}: {' / '.join(a[at : at + 1])[:110]!r} -> {' / '.join(b[at : at + 1])[:110]!r}"


COLUMNS = ("damaged", "refused", "same values", "head only", "head contradicting", "not tellable", "layout",
           "unread", "contradicting", "crash", "bad message", "harmless", "harmless not read")  # fmt: skip

#: Outcomes of which there are examples, and how many of each sentence.
SHOWN = ("contradicting", "unread", "crash", "bad message", "harmless not read")
EXAMPLES = 2


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("programs", nargs="*", default=PROGRAMS, metavar="PROGRAM")
    parser.add_argument(
        "--trials", type=int, default=200_000, help="of all programs together"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--no-harmless",
        action="store_true",
        help="try no harmless changes: they have no seed",
    )
    options = parser.parse_args()
    signal.signal(signal.SIGVTALRM, _hang)
    print(
        "| parser | " + " | ".join(COLUMNS) + " |\n|---" + "|---" * len(COLUMNS) + "|",
        flush=True,
    )
    sums = Counter()
    examples = defaultdict(list)
    for program in options.programs:
        row = Counter()
        count = options.trials // len(options.programs)
        for outcome, way, name, words in trials(
            program, count, options.seed, harmless=not options.no_harmless
        ):
            row[outcome] += 1
            row["damaged"] += not outcome.startswith("harmless")
            why = (
                way
                if outcome.startswith("harmless")
                else words.partition(":")[0].strip("[\"'")
            )
            if outcome in SHOWN:
                examples[outcome, program, why].append(f"{name}: {way}: {words}")
        sums += row
        print(
            f"| {program} | "
            + " | ".join(f"{row[column]:,}" for column in COLUMNS)
            + " |",
            flush=True,
        )
    print("| all | " + " | ".join(f"{sums[column]:,}" for column in COLUMNS) + " |")
    for (outcome, program, why), found in sorted(examples.items()):
        print(
            f"\n{outcome}, {program}, {why}: {len(found)}",
            *found[:EXAMPLES],
            sep="\n  ",
        )


if __name__ == "__main__":
    main()
