# SPDX-License-Identifier: BSD-3-Clause
"""How an output contradicts itself: sums, counts, orders and rates that its format gives twice.

Written from the sources of the programs and from what they print, without a look at the parsers: the two have only
the programs in common. A relation is held to the digits that are printed; one that a busy machine may break is left
out, and so is which pairs a round has. `layout` begins a sentence on how a number is printed, not on its value.
"""

import math
import re
from collections import defaultdict
from itertools import pairwise
from typing import NamedTuple

NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\Z", re.ASCII)


class Span(NamedTuple):
    """The values that a printed number stands for."""

    low: float
    high: float

    def plus(self, *others):
        return Span(self.low + sum(s.low for s in others), self.high + sum(s.high for s in others))

    def times(self, other):
        ends = [a * b for a in self for b in (other if isinstance(other, tuple) else (other,))]
        return Span(min(ends), max(ends))

    def over(self, other):
        """Return the quotient; of a divisor that may be zero, anything."""
        return self.times(Span(1 / other.high, 1 / other.low)) if other.low > 0 else Span(-math.inf, math.inf)

    def within(self, low, high):
        return Span(min(max(self.low, low), high), min(max(self.high, low), high))

    def differs(self, other):
        low, high = other if isinstance(other, tuple) else (other, other)
        return self.low > high or low > self.high


ZERO, HUNDRED = Span(0.0, 0.0), Span(100.0, 100.0)


def number(text):
    if not NUMBER.match(text):
        raise ValueError(text)
    return float(text)


def span(text, digits=0):
    """Return the span of a number with all its decimals, or with so many significant digits, as %.6g has them."""
    value = number(text)
    mantissa, _, exponent = text.lower().partition("e")
    half = 0.5 * 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    if digits:
        half = min(half, 0.5 * 10.0 ** (math.floor(math.log10(abs(value))) + 1 - digits)) if value else 0.0
    half = half * (1 + 1e-9) + abs(value) * 1e-14
    return Span(value - half, value + half)


def is_mean(least, mean, most, count):
    """Whether so many values can have this least, mean and most: one is the least and one is the most."""
    low, high = (least.low * (count - 1) + most.low) / count, (least.high + most.high * (count - 1)) / count
    return least.low <= most.high and low <= mean.high and mean.low <= high


def grows(numbers):
    return all(a < b for a, b in pairwise(numbers))


def those(*claims):
    """Return the sentences of the claims that hold."""
    return [sentence for holds, sentence in claims if holds]


class TwiceError(ValueError):
    """A line is there twice, and differs."""


def only(pattern, text):
    """Return the groups of a line that a text has once."""
    found = {match.groups() for match in re.finditer(pattern, text, re.MULTILINE)}
    if len(found) > 1:
        raise TwiceError(pattern)
    if not found:
        raise LookupError(f"no line {pattern}")
    return found.pop()


# --------------------------------------------------------------------------------------------------- programs of ours


class Own:
    """An output of a program of ours: head, columns and rows."""

    def __init__(self, text):
        self.head = defaultdict(list)
        for key, value in re.findall(r"^# ([^:\n]*):? *(.*?) *$", text, re.MULTILINE):
            self.head[key].append(value)
        self.columns = " ".join(self.head["columns"][-1:]).split()
        lines = [line.split() for line in text.splitlines() if line and line[0] != "#"]
        self.rows = [row for row in lines if len(row) == len(self.columns) and NUMBER.match(row[0])]
        self.options = dict(re.findall(r"([a-z][-a-z]*[a-z]) (?!confirm)(\S+)", " ".join(self.head["options"])))

    def number(self, option):
        return number(self.options[option])

    def seconds(self, key):
        return span(self.head[key][0].removesuffix(" s"), 6)

    def common(self, columns, what="rows"):
        cells = [cell for row in self.rows for cell in row if NUMBER.match(cell)]
        named = [key for key in self.head if key.startswith("rank ")]
        ranks = [f"rank {i}" for i in range(len(named if what == "rows" else self.rows))]
        strange = any(cell not in (f"{float(cell):.6g}", f"{float(cell):.0f}") for cell in cells)
        return those(
            (any(len(set(values)) > 1 for values in self.head.values()), "head: a line is there twice, and differs"),
            (self.columns != list(columns), "columns: not those that the program prints"),
            (set(self.head["complete"]) != {f"{len(self.rows)} {what}"}, f"count: {len(self.rows)} rows"),
            (strange, "layout: a number is not as %.6g and %d print it"),
            (what == "rows" and named != ranks, "ranks: not in order"),
            (set(self.head["ranks"]) != {str(len(ranks))}, f"ranks: {len(ranks)} have a line"),
        )

    def sizes(self, step, first=0):
        found, least, most = [first], self.number("min-size"), self.number("max-size")
        while found[-1] <= most and len(found) < 100:
            found.append(step(found[-1]))
        return [size for size in found if least <= size <= most]


def half_octaves(size):
    return size + 1 if size < 2 else (size // 2 * 3 if size & (size - 1) == 0 else size // 3 * 4)


def doubled(size):
    return 2 * size or 1


def points(own, names, keys, titles):
    """Hold the points of a table to the rule of common/sampling.c; `names` has the operations of a repetition."""
    endings = ("_us", "_ci_low_us", "_ci_high_us", "_samples", "_stop")
    yield from own.common([*titles, *(name + ending for name in names for ending in endings)])
    found = [tuple(map(number, row[: len(titles)])) for row in own.rows]
    yield from those((found != list(keys), "keys: not the sizes that the options ask for"))
    share, fewest, longest = (own.number(name) for name in ("ci-share", "min-samples", "max-seconds-per-point"))
    for row in own.rows:
        for at, (name, operations) in enumerate(names.items()):
            *times, stop = row[len(titles) + 5 * at : len(titles) + 5 * (at + 1)]
            middle, low, high, samples = map(number, times)
            off = max(middle - low, high - middle) / middle - share if middle > 0 else 0.0
            narrow = off <= 1.2e-5 and samples >= fewest
            # All samples but the last were over before the time was up, and half of them took the median or more.
            least_s = (samples / 2 - 1) * middle * operations / 1e6 if samples > 8 else 0.0
            yield from those(
                (not 0 < low <= middle <= high, f"interval: {name} {low} {middle} {high}"),
                (stop == "ci" and not narrow, f"stop: {name} ci, {samples:g} samples, {off:+.3g} beyond ci-share"),
                (stop == "cap" and narrow and off < -1.2e-5, f"stop: {name} cap, but narrow"),
                (stop not in ("ci", "cap") or samples % 1 > 0 or samples < 8, f"stop: {name} {stop} {samples:g}"),
                (least_s > 1.0001 * longest, f"time: {name} {samples:g} samples of {middle} us take too long"),
            )


def streaming(own):
    names = {"ping_pong": 2.0, "streaming": own.number("window")}
    if {"one": False, "both": True}[own.options["directions"]]:
        names |= {"bidirectional_ping_pong": 1.0, "bidirectional_streaming": own.number("window")}
    return points(own, names, [(size,) for size in own.sizes(half_octaves)], ["size_B"])


def hot_spot(own):
    last = int(own.head["ranks"][0]) - 1
    slaves = [n for n in range(1, last + 1) if n <= 8 or n & (n - 1) == 0 or n == last]
    sizes = own.sizes(lambda size: 8 * size, int(own.number("min-size")))
    keys = [(size, count) for size in sizes for count in slaves]
    return points(own, {"send": 1.0, "send_receive": 1.0}, keys, ["size_B", "slaves"])


def buffer_reuse(own):
    sizes = own.sizes(lambda size: 4 * size, int(own.number("min-size")))
    names = {"latency": 2 * own.number("iterations"), "stream": own.number("iterations")}
    return points(own, names, [(s, share) for s in sizes for share in range(0, 101, 25)], ["size_B", "reuse_percent"])


def notification(own):
    yield from points(own, {"test": 2.0, "wait": 2.0}, [(s,) for s in own.sizes(doubled)], ["size_B"])
    cpu, sleeps, words = (own.head[key][0] for key in ("cpu while waiting", "sleeps while waiting", "blocking wait"))
    if sleeps != "unknown":
        used = only(r"^test (\d+) % wait (\d+) %$", cpu)[1]
        count = only(r"^test (\d+) in (\d+) of (\d+) waits, wait (\d+) in (\d+) of (\d+) waits$", sleeps)
        verdict, *again = only(
            r"^(\w+): .* in (\d+) of (\d+) waits of .*, (\S+) times a wait, .* (\d+) % of a CPU$", words
        )
        slept = [(int(count[i]), int(count[i + 1]), int(count[i + 2])) for i in (0, 3)]
        waits = own.number("waits")
        expected = "absent" if slept[1][1] == 0 else "offered" if 2 * slept[1][1] >= waits else "unknown"
        yield from those(
            (any(b > min(a, c) or c != waits for a, b, c in slept), f"waits: {sleeps}"),
            (verdict != expected or (*again[:2], again[3]) != (*count[4:], used), f"waits: {words}"),
            (span(again[2], 3).differs(slept[1][0] / waits), "waits: times a wait"),
        )


def overlap(own):
    chosen = own.options.get("operation")
    names = ["iallreduce", "ialltoall", "ibcast"] if chosen == "all" else [chosen] if chosen else ["isend", "irecv"]
    ends = ["nominal_us", "overhead_us", "overhead_ci_low_us", "overhead_ci_high_us", "availability_percent", "work_us"]
    ends += ["steps", "stop", *(["osu_overlap_percent"] if chosen else [])]
    yield from own.common(["size_B", *(f"{name}_{end}" for name in names for end in ends)])
    yield from those(([number(row[0]) for row in own.rows] != own.sizes(doubled), "keys: not the sizes of the options"))
    knee, most = own.number("knee-share"), own.number("max-steps")
    for row in own.rows:
        for at, name in enumerate(names):
            cells = row[1 + at * len(ends) : 1 + (at + 1) * len(ends)]
            stop = cells[7]
            nominal, overhead, low, high, available, work, steps = map(number, cells[:7])
            left = HUNDRED.plus(span(cells[1], 6).over(span(cells[0], 6)).times(-100)).within(0, 100)
            short = work + overhead < 0.9 * nominal * (1 + 0.5 * knee)
            yield from those(
                (not 0 < low <= overhead <= high or nominal <= 0 or work <= 0, f"interval: {name} {cells[:4]}"),
                (left.differs(span(cells[4], 6).within(-1e-9, 101)), f"availability: {name} {available}, {left}"),
                (stop not in ("knee", "none", "cap"), f"stop: {name} {stop}"),
                (steps % 1 > 0 or not 1 <= steps <= most + 1, f"stop: {name} after {steps:g} steps"),
                (stop == "none" and cells[1] != cells[0], f"stop: {name} none, but overhead is not nominal"),
                (stop == "knee" and short, f"stop: {name} knee, but work and overhead are shorter than nominal"),
                (len(ends) == 9 and not 0 <= number(cells[-1]) <= 100, f"overlap: {name} {cells[-1]}"),
            )


def latency_map(own):
    yield from own.common(["pass", "round", "starter", "other", "latency_us", "least_us"])
    samples, repetitions = int(own.number("samples")), own.number("repetitions")
    longest_s = defaultdict(float)
    for row in own.rows:
        median, least = number(row[4]), number(row[5])
        yield from those((not 0 < least <= median, f"order: least {least}, median {median}"))
        seconds = 2e-6 * repetitions * ((samples + 1) // 2 * median + samples // 2 * least)
        longest_s[row[0], row[1]] = max(longest_s[row[0], row[1]], seconds)
    least_s = sum(longest_s.values())
    yield from those((own.seconds("elapsed").high < 0.9999 * least_s, f"time: the rows take {least_s:.6g} s"))


def rotate(own):
    is_older = "slowest_MBps" not in own.columns
    yield from own.common(["round", "sender", "receiver", "MBps", *([] if is_older else ["slowest_MBps"]), "phase"])
    ranks, confirm = int(own.head["ranks"][0]), own.options["confirm"]
    nodes = ranks // int(own.options.get("rails", 1))
    tests, megabytes = own.number("tests"), own.number("messages") * own.number("size") / 1e6
    pairs, least, most = defaultdict(set), defaultdict(float), defaultdict(float)
    for at, sender, receiver, *rates, phase in own.rows:
        pairs[phase].add((number(sender), number(receiver)))
        best, slowest = number(rates[0]), number(rates[-1])
        if not 0 < slowest <= best:
            yield f"range: slowest {slowest}, best {best}"
            continue
        took_s = megabytes * ((tests - 1) / best + 1 / slowest)
        least[phase, at] = max(least[phase, at], took_s)
        most[phase, at] = max(most[phase, at], math.inf if is_older else tests * megabytes / slowest)
    alone, again, words = len(pairs["alone"]), len(pairs["together"]), own.head["suspects"][0]
    if words in ("none", "not measured again"):
        yield from those((alone + again > 0, f"suspects: {words}, but {again} and {alone} pairs have rows"))
    else:
        count, total, repeated, single = only(
            r"^(\d+) pairs of (\d+), \d+ senders, \d+ receivers; (?:(\d+) measured again, )?(\d+)(?: measured)? alone$",
            words,
        )
        all_pairs = ranks * (nodes - 1) if repeated else len(pairs["scan"])
        yield from those(
            (int(total) != all_pairs or not 0 < int(count) <= int(total), f"suspects: {count} of {total}"),
            (int(single) != alone, f"suspects: {single} alone, {alone} have rows"),
            (int(repeated or 0) > min(int(count), again), f"suspects: {repeated} again, {again} have rows"),
        )
    transfers, elapsed = own.seconds("transfers"), own.seconds("elapsed")
    least_s = sum(took_s for (phase, _), took_s in least.items() if phase != "leaf")
    yield from those(
        (
            own.head["pattern"][0] != own.options["pattern"] or own.head["nodes"][0] != str(nodes),
            "head: pattern, nodes",
        ),
        (
            confirm not in ("yes", "no") or (words == "not measured again") != (confirm == "no"),
            f"options: confirm {confirm}",
        ),
        (0.9999 * transfers.low > sum(most.values()), "time: transfers are more than the pairs take"),
        (least_s > 1.0001 * transfers.high, f"time: the pairs take {least_s:.6g} s, more than transfers"),
        (elapsed.high < transfers.low, "time: elapsed is less than transfers"),
        (elapsed.over(transfers).differs(span(own.head["elapsed over transfers"][0])), "time: elapsed over transfers"),
    )


def cpus(text):
    found = []
    for part in text.split(",") if text != "-" else []:
        first, last = only(r"^(\d{1,5})(?:-(\d{1,5}))?$", part)
        found += range(int(first), int(last or first) + 1) if not last or int(last) > int(first) else [-1, -1]
    return found


def placement(own):
    yield from own.common(["rank", "host", "node", "cpu", "cpus", "cores", "online"], "ranks")
    yield from those(([row[0] for row in own.rows] != [str(i) for i in range(len(own.rows))], "ranks: not in order"))
    seen = {}
    for _, host, node, cpu, allowed, cores, online in own.rows:
        may, on = cpus(allowed), cpus(online)
        pairs = [tuple(int(n) for n in only(r"^(\d+):(\d+)$", core)) for core in cores.split(",") if cores != "-"]
        same = ((("online", host), online), (("cores", host, allowed), cores), (("node", host), node))
        yield from those(
            (not (host + node).isprintable(), "name: control characters"),
            (any(seen.setdefault(key, value) != value for key, value in same if value != "-"), f"host: {host} differs"),
            (not grows(may) or not grows(on), "cpus: not in order"),
            (bool(may and on) and not set(may) <= set(on), "cpus: not all online"),
            (bool(may) and number(cpu) >= 0 and number(cpu) not in may, "cpus: runs outside of those allowed"),
            (not grows(pairs) or (bool(may) and len(pairs) > len(may)), "cores: not in order, or more than CPUs"),
        )


# ------------------------------------------------------------------------------------------------- programs of others


def table_lines(text):
    return [line.rstrip() for line in text.splitlines() if line.split() and NUMBER.match(line.split()[0])]


def osu(text):
    heads = re.findall(r"^[# ] *(?=.*(?:\([a-zA-Z%]+\)|MB/s|\[us\]))((?!Overall =|Uni-dir).*?) *$", text, re.MULTILINE)
    several = text.count("Datatype") > 1 or "Message Rate Test v5.6" in text  # lines of titles
    columns = [re.sub(r"\s*[\[(].*", "", part) for part in re.split(r"(?<=[)\]s])\s+|\s{2,}", heads[-1])]
    lines = table_lines(text)
    sizes_B = []
    for line in lines:
        cells = dict(zip(columns, line.split(), strict=False))
        values = {name: span(cell) for name, cell in cells.items() if cell not in ("Pass", "Fail", "-")}
        sizes_B += [number(cells["Size"])] if "Size" in cells else []
        kinds = (("Min Latency", "Avg Latency", "Max Latency"), ("Min Comm.", "Pure Comm.", "Max Comm."))
        ends = [[values[name] for name in names] for names in kinds if names[0] in values]
        ends.append([value for name, value in values.items() if "Tail" in name])
        rate = values.get("Messages/s", ZERO).times(sizes_B[-1] / 1e6 if sizes_B else 1.0)
        yield from those(
            (len(line.split()) != len(columns), "row: fields and titles"),
            (any(a.low > b.high for in_order in ends for a, b in pairwise(in_order)), "order: least, mean, most"),
            ("Messages/s" in values and rate.differs(values["MB/s"]), f"rate: MB/s is not {rate.low:.6g}"),
        )
        if "Overall" in values:
            yield from _osu_overlap(values)
    yield from those(
        (len(set(re.findall(r"^# (.* Test)(?: v\S+)?$", text, re.MULTILINE))) > 1, "head: two programs"),
        (not several and (len(set(heads)) != 1 or not grows(sizes_B)), "head: titles, or sizes that do not grow"),
        (len({len(line) for line in lines}) > 1, "layout: lines of different length"),
    )


def _osu_overlap(values):
    parts = [values[name] for name in ("Coll. Init", "Compute", "MPI_Test", "MPI_Wait") if name in values]
    overall = values["Overall"]
    share = overall.plus(values["Compute"].times(-1)).times(100).over(values["Pure Comm."])  # printed without the tests
    left = HUNDRED.plus(share.times(-1)).within(0, 100)
    return those(
        (ZERO.plus(*parts).low > overall.high, "sum: the parts are more than all"),
        (len(parts) == 4 and overall.low > 2 * ZERO.plus(*parts).high + 10, "sum: the parts are much less than all"),
        (left.differs(values["Overlap"]), f"overlap: is {left.low:.2f}"),
    )


def start_up(text):
    for count, *times in re.findall(r"nprocs: (\d+), min: (\S+) ms, max: (\S+) ms, avg: (\S+) ms", text):
        least, most, mean = map(span, times)
        cut = Span(mean.low - 1, mean.high + 1)  # whole milliseconds, not rounded
        yield from those((not is_mean(least, cut, most, int(count)), "order: min, avg, max"))


def imb(text):
    called = re.search(r"^# \S*IMB-\S+ .*?(?:-iter (\d+)(?:,(\d+))?.*)?$", text, re.MULTILINE)
    default = (100_000, 10**12) if "IMB-P2P" in text else (1000, 40)  # repetitions, MiB
    most, volume_MiB = (float(n) if n else default[i] for i, n in enumerate(called.groups() if called else ("", "")))
    for part in re.split(r"^(?=# Benchmarking )", text, flags=re.MULTILINE)[1:]:
        processes = re.search(r"#processes = (\d+)", part)
        for table in re.split(r"^(?=#\s+MODE)", part, flags=re.MULTILINE):
            rows = table_lines(table)
            titles = only(r"^\s+(#(?:bytes|repetitions).*?)\s*$", table)[0].split() if rows else []
            cells = [dict(zip(titles, row.split(), strict=True)) for row in rows]
            n = [number(row["#repetitions"]) for row in cells]
            sizes = [number(row.get("#bytes", "0")) for row in cells]
            allowed = [min(most, max(1, volume_MiB * 2**20 // size) if size else most) for size in sizes]
            yield from those(
                (any(a < b for a, b in pairwise(n)), "repetitions: grow with the size"),
                (any(not 1 <= a <= b for a, b in zip(n, allowed, strict=True)), "repetitions: more than the call's"),
                ("#bytes" in titles and not grows(sizes), "sizes: do not grow"),
                (len({len(row) for row in rows}) > 1, "layout: lines of different length"),
            )
            for row in cells:
                yield from _imb_row({k: span(v) for k, v in row.items()}, int(processes[1]) if processes else 10**6)
            by = [name for name in ("Msg/sec", "t_max[usec]", "t[usec]") if name in titles]
            if "Mbytes/sec" in titles and by:
                yield from _imb_rate(cells, sizes, by[0])


def _imb_row(cells, ranks):
    yield from those((min(cell.high for cell in cells.values()) < 0, "range: negative"))
    if "t_min[usec]" in cells:
        least, mean, most = (cells[f"t_{end}[usec]"] for end in ("min", "avg", "max"))
        yield from those(
            (not is_mean(least, mean, most, ranks), f"order: {least.low:.2f} {mean.low:.2f} {most.low:.2f}")
        )
    if "overlap[%]" in cells:
        pure, cpu, overall = (cells[f"t_{part}[usec]"] for part in ("pure", "CPU", "ovrl"))
        longer = Span(max(pure.low, cpu.low), max(pure.high, cpu.high))
        share = pure.plus(cpu, overall.times(-1)).times(100).over(longer).within(0, 100)
        yield from those((share.differs(cells["overlap[%]"]), f"overlap: is {share.low:.2f}"))


def _imb_rate(cells, sizes, by):
    """Hold the bandwidth to a time or a message rate: between them is a small factor, in nearly all rows the same."""
    factors = []
    for row, size in zip(cells, sizes, strict=True):
        if size > 0 and number(row[by]) > 0:
            time_us = span(row[by]) if by.startswith("t") else Span(1e6, 1e6).over(span(row[by]))
            factors.append(span(row["Mbytes/sec"]).times(time_us).times(1 / size))
    agree = max(sum(not found.differs(factor) for found in factors) for factor in (1, 2, 4))
    return those((len(factors) > agree >= 0.75 * len(factors) >= 3, f"rate: not of {by}, {len(factors) - agree} rows"))


def lammps(text):
    time, *counts = only(r"^Loop time of (\S+) on (\d+) procs for (\d+) steps with (\d+) atoms", text)
    loop, (processes, steps, atoms) = span(time, 6), map(int, counts)
    cpu, tasks, threads = only(r"^(\S+)% CPU use with (\d+) MPI tasks x (\d+) OpenMP threads", text)
    hours, minutes, seconds = map(int, only(r"^Total wall time: (\d+):(\d\d):(\d\d)$", text))
    grids = re.findall(r"(\d+) by (\d+) by (\d+) MPI processor grid", text)
    made = re.findall(r"^(?:Created|  reading atoms \.\.\.\n ) (\d+) atoms|^  (\d+) atoms$", text, re.MULTILINE)
    histograms = re.findall(r"^Histogram: (.*)$", text, re.MULTILINE)
    yield from those(
        (len(re.findall(r"^LAMMPS \(.*\)", text, re.MULTILINE)) != 1, "head: version"),
        (any(math.prod(map(int, grid)) != processes for grid in grids), "processes: grid"),
        (tasks != str(processes) or not 0 < number(cpu) <= 110 * int(threads), "processes: MPI tasks, or CPU use"),
        (bool(made) and "".join(made[-1]) != str(atoms), f"atoms: {made[-1:]} were made"),
        (loop.low > 3600 * hours + 60 * minutes + seconds + 1, "time: the wall time is less than the loop"),
        (any(sum(map(int, counts.split())) != processes for counts in histograms), "processes: histogram"),
    )
    for name, *ends in re.findall(r"^(\w+): +(\S+) ave +(\S+) max +(\S+) min", text, re.MULTILINE):
        mean, most, least = (span(end, 6) for end in ends)
        wrong = name == "Nlocal" and mean.times(processes).differs(atoms)
        yield from those((wrong or not is_mean(least, mean, most, processes), f"order: {name}"))
    style, step = (only(rf"^  {key} +: (\S+)$", text)[0] for key in ("Unit style", "Time step"))
    yield from _lammps_rates(text, style, number(step), Span(steps, steps).over(loop), atoms)
    yield from _lammps_sections(text, loop, processes)
    yield from _lammps_thermo(text, style, loop, steps, atoms)


def _lammps_rates(text, style, step, per_s, atoms):
    ns = {"real": 1e-6, "metal": 1e-3}.get(style)
    day = per_s.times(86400 * step * (ns or 1))
    expected = {"ns/day": day, "hours/ns": Span(24, 24).over(day)} if ns else {"tau/day": day}
    expected["timesteps/s"] = per_s
    expected |= {f"{k}atom-step/s": per_s.times(atoms / 10**e) for k, e in (("", 0), ("k", 3), ("M", 6), ("G", 9))}
    (line,) = only(r"^Performance: (.*)$", text)
    rates = {unit: span(value) for value, unit in re.findall(r"(\S+) ([\w/-]+)(?:, |$)", line)}
    return those(
        (len(rates) != len(expected) - 3 or not set(rates) <= set(expected), f"rate: {line} in units {style}"),
        (any(rate.differs(expected[unit]) for unit, rate in rates.items() if unit in expected), f"rate: {line}"),
    )


def _lammps_sections(text, loop, processes):
    titles, *rows = re.findall(r"^(\w+) +\|(.*)\|(.*)\|(.*)\|(.*)\|(.*)$", text, re.MULTILINE)
    known = ["Pair", "Bond", "Kspace", "Neigh", "Comm", "Output", "Modify", "Other"]
    names = [row[0] for row in rows]
    means = [span(row[2].strip(), 5 if row[0] != "Other" else 4) for row in rows]
    yield from those(
        ("".join(titles) != "Section  min time    avg time    max time  %varavg %total", "sections: titles"),
        (names != [name for name in known if name in names] or names[-1:] != ["Other"], f"sections: {names}"),
        (ZERO.plus(*means).differs(loop), "sum: sections and loop time"),
    )
    for (name, *cells), mean in zip(rows, means, strict=True):
        least, most = (span(cells[i].strip(), 5) if name != "Other" else mean for i in (0, 2))
        yield from those(
            (name != "Other" and not is_mean(least, mean, most, processes), f"order: {name}"),
            (mean.times(100).over(loop).differs(span(cells[4].strip())), f"share: {name}"),
        )


def _lammps_thermo(text, style, loop, steps, atoms):
    rows, columns = [], []
    for line in text.partition("Per MPI rank memory")[2].partition("Loop time of")[0].splitlines()[1:]:
        fields = line.split()
        if block := re.match(r"-+ Step +(\d+) -+ CPU = +(\S+) \(sec\) -+$", line):
            rows.append({"Step": block[1], "CPU": block[2]})
        elif found := re.findall(r"(\w+) += +(\S+)", line):
            rows[-1].update(found)
        elif fields[:1] == ["Step"]:
            columns = fields
        elif fields and NUMBER.match(fields[0]):
            rows.append(dict(zip(columns, fields, strict=True)))
    at = [int(row["Step"]) for row in rows]
    begin = int(only(r"^  Current step  : (\d+)$", text)[0])
    values = [{name: span(cell, 0 if "CPU" in row else 8) for name, cell in row.items()} for row in rows]
    clock = [value["CPU"] for value in values if "CPU" in value]
    off_clock = clock and not (grows([c.high for c in clock]) and 0.9 * loop.low < clock[-1].high < 1.001 * loop.high)
    ratios = [value["KinEng"].over(value["Temp"]) for value in values if "PotEng" in value]
    yield from those(
        (at[:1] != [begin] or at[-1] - begin != steps or not grows(at), f"thermo: steps {at} of {steps}"),
        (len({b - a for a, b in pairwise(at[:-1])}) > 1, f"thermo: steps {at}"),
        (len({tuple(row) for row in rows}) > 1, "thermo: names differ"),
        (off_clock, "thermo: CPU"),
        (any(a.differs(b) for a in ratios for b in ratios), "energy: Temp and KinEng"),
    )
    for value in values:
        yield from _lammps_energy(value, style, atoms)


BOLTZMANN = {"lj": 1.0, "metal": 8.617343e-5}


def _lammps_energy(value, style, atoms):
    parts = [value["KinEng"], value["PotEng"]] if "PotEng" in value else []
    if "E_pair" in value and style in BOLTZMANN:
        kinetic = value["Temp"].times(1.5 * BOLTZMANN[style] * (atoms - 1) / (atoms if style == "lj" else 1))
        margin = 0.0 if style == "lj" else 2e-6 * kinetic.high  # of the constant, which releases have in other digits
        parts = [value["E_pair"], value["E_mol"], Span(kinetic.low - margin, kinetic.high + margin)]
    terms = [
        value[f"E_{name}"] for name in ("bond", "angle", "dihed", "impro", "vdwl", "coul", "long") if "PotEng" in value
    ]
    return those(
        (bool(parts) and ZERO.plus(*parts).differs(value["TotEng"]), "energy: TotEng"),
        (bool(terms) and ZERO.plus(*terms).differs(value["PotEng"]), "energy: PotEng"),
        (value.get("Atoms", ZERO.plus(Span(atoms, atoms))).differs(atoms), "atoms: thermo"),
        (any(value[name].high < 0 for name in ("Temp", "Volume", "KinEng") if name in value), "energy: negative"),
    )


def npb(text):
    head, _, report = text.partition("Benchmark Completed")
    version, kernel = only(r"NAS Parallel Benchmarks (\S+) -- (\w+) Benchmark", text)
    size, problem = only(r"Size\s*: +(.*?) +\(class (\w)\)\s*$", head)
    rounds, processes = (only(rf"{key}\s*: +(\d+)\s*$", head)[0] for key in ("Iterations", "umber of processes"))
    names = (
        "Class",
        "Size",
        "Iterations",
        "Total processes",
        "Version",
        "Time in seconds",
        "Mop/s total",
        "Mop/s/process",
    )
    value = {name: only(rf"^ {name} *= +(.*?)\s*$", report)[0] for name in names}
    seconds, rate, each = (span(value[name]) for name in names[5:])
    lines = re.findall(r"^ T = +(\d+) " if kernel == "FT" else r"^ +(\d+)$", head, re.MULTILINE)
    n, elements = int(rounds), math.prod(int(count) for count in re.findall(r"\d+", size))
    log = math.log(elements)
    operations = elements * (n if kernel == "IS" else 14.8157 + 7.19641 * log + (5.23518 + 7.21113 * log) * n)  # ft.f90
    return those(
        (not value["Version"].startswith(version) or not head.endswith(f" {kernel} "), "head: two programs"),
        ((value["Class"], value["Size"].split()) != (problem, size.split()), "report: class or size"),
        ((value["Iterations"], value["Total processes"]) != (rounds, processes), "report: iterations or processes"),
        (bool(lines) and lines != [str(i + 1) for i in range(n)], f"iterations: {len(lines)} lines, {n} in the head"),
        (each.times(float(processes)).differs(rate), "rate: of a process"),
        (Span(operations / 1e6, operations / 1e6).over(seconds).differs(rate), "rate: Mop/s and time"),
    )


def ls_dyna(text):
    clock = r"Elapsed time +(\d+) seconds\( *(\d+) hours? *(\d+) min\. *(\d+) sec\.\) for +(\d+) cycles"
    seconds, hours, minutes, rest, cycles = map(int, only(clock, text))
    steps = re.findall(r"^ +(\d+) t (\S+) dt", text, re.MULTILINE)
    (cycle,), (when,) = (only(rf"Problem {what} += +(\S+)", text) for what in ("cycle", "time"))
    rows = re.findall(r"^(  +)(\S.*?) \.* ?(\d\S*) +(\S+) +(\S+) +(\S+)$", text, re.MULTILINE)
    (whole,) = (row for row in rows if row[1].startswith("T o t a l s"))
    top = [row for row in rows if row[0] == "  " and row is not whole]
    used, passed = span(whole[2]), span(whole[4])
    off_clock = passed.low > seconds + 1 or passed.high < 0.5 * seconds - 2 or used.low > 1.05 * passed.high + 1
    yield from those(
        (int(cycle) != cycles or steps[-1][0] != cycle or not grows([int(n) for n, _ in steps]), f"cycles: {cycles}"),
        (span(steps[-1][1]).differs(span(when)), "time: problem time"),
        (seconds != 3600 * hours + 60 * minutes + rest or max(minutes, rest) > 59, "time: hours and seconds"),
        (off_clock, "time: CPU, clock and elapsed"),
        (any(ZERO.plus(*(span(row[i]) for row in top)).differs(span(whole[i])) for i in (2, 4)), "sum: rows, totals"),
    )
    below, parent = ZERO, whole
    for row in [*rows, whole]:
        for i in (2, 4):
            share = span(row[i]).times(100).over(span(whole[i]))
            yield from those(
                (Span(share.low - 0.005, share.high + 0.005).differs(span(row[i + 1])), f"share: {row[1]}")
            )
        if row[0] == "  ":
            yield from those((below.low > span(parent[4]).high, f"sum: below {parent[1]}"))
            below, parent = ZERO, row
        elif "Interf. ID" not in row[1]:
            below = below.plus(span(row[4]))


OURS = (streaming, overlap, hot_spot, buffer_reuse, notification, latency_map, rotate, placement)
ORACLES = {oracle.__name__: oracle for oracle in (*OURS, osu, imb, lammps, npb, ls_dyna)}
ORACLES |= {"collective_overlap": overlap, "start-up": start_up}


def contradictions(program, text):
    """Return how an output of a program contradicts itself; `unread` if that cannot be read from it."""
    oracle = ORACLES[program]
    found = []
    try:
        for finding in oracle(Own(text) if oracle in OURS else text):
            found.append(finding)
    except TwiceError as error:
        found.append(f"twice: {error}")
    except (ValueError, LookupError, TypeError, ArithmeticError) as error:
        found.append(f"unread: {type(error).__name__}: {str(error)[:60]}")
    return sorted(found, key=lambda finding: finding.startswith(("layout", "unread")))
