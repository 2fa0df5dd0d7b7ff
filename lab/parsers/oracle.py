# SPDX-License-Identifier: BSD-3-Clause
"""What must hold of an output that a parser accepted, told from its text without the parser's own rules."""

import re
from decimal import Decimal

from lab.parsers import pair_oracle

HALF = Decimal("0.005")
#: The columns of OSU's tables as their titles read without blanks and brackets, by what benchmarks begin with.
_OSU_TITLES = {
    "latency": r"(Avg)?Latencyus(MinLatencyusMaxLatencyusIterations)?",
    "bandwidth": r"(BandwidthMB/s|MB/s|(Avg)?Latencyus)(MinLatencyusMaxLatencyusIterations)?",
    "rate": r"(Bandwidth)?MB/sMessages/s(MinLatencyusMaxLatencyusIterations)?",
    "overlap": r"OverallusComputeus(Coll\.InitusMPI_TestusMPI_Waitus)?PureComm\.us(MinComm\.usMaxComm\.us)?Overlap%"
    r"(MinLatencyusMaxLatencyusIterations)?",
}
_OSU_ADDED = r"(Validation)?(P\d+Tail(Latus|BWMB/s))*(TransmitSize)?"


def require_osu(text, output, *, benchmark, sizes_B):
    """Fail if an accepted table of OSU contradicts itself or is another's."""
    text = _bare(text)
    titles = {
        " ".join(line.split()) for line in text.splitlines() if re.match(r"#\s*(OSU )?MPI.* Test(\s+v\S+)?\s*$", line)
    }
    assert len(titles) == 1, titles
    kind = "rate" if benchmark == "mbw_mr" else "overlap" if benchmark.startswith("i") else "latency"
    kind = "bandwidth" if "bw" in benchmark and kind == "latency" else kind
    after = [" ".join(line.split()) for line in text.splitlines()]
    for line in after[after.index(next(iter(titles))) :]:
        words = re.sub(r"[\s#()\[\]]", "", line)
        if re.match(r"#\s*Size\b", line) and not (kind == "rate" and words == "SizeLatencyus"):
            assert re.fullmatch(rf"Size(B)?{_OSU_TITLES[kind]}{_OSU_ADDED}", words), line
    assert [row.size_B for row in output.rows] == list(sizes_B)
    lines = text.splitlines()
    for row in output.rows:
        cells = lines[row.line - 1].split()
        if len(cells) > len(output.columns):
            assert cells.pop(0) == str(row.size_B)
        told = dict(zip(output.columns, cells, strict=True))
        for name, cell in told.items():
            whole = name in ("iterations", "transmit_size")
            form = r"\d+" if whole else r"Pass" if name == "validation" else r"\d+\.\d\d"
            assert re.fullmatch(form, cell, re.ASCII), cell
            assert row.values[name] == (1 if cell == "Pass" else float(cell))
        _require_row(told, row.size_B)


def require_imb(text, output, *, benchmark, sizes_B, processes, program, mode):
    """Fail if an accepted block of IMB contradicts itself."""
    assert [row.size_B for row in output.rows] == list(sizes_B)
    assert output.processes == processes
    lines = _bare(text).splitlines()
    titles = next(lines[at].split() for at in range(output.rows[0].line - 2, 0, -1) if "#repetitions" in lines[at])
    names = {"t_min[usec]": "min_latency_us", "t_avg[usec]": "latency_us", "t_max[usec]": "max_latency_us"}
    assert len(set(titles)) == len(titles)
    assert any(title.startswith("t") or title == "Msg/sec" for title in titles)
    for row in output.rows:
        cells = lines[row.line - 1].split()
        for title, cell in zip(titles, cells, strict=True):
            assert re.fullmatch(r"\d+" if title[0] in "#M" and title != "Mbytes/sec" else r"\d+\.\d\d", cell, re.ASCII)
        told = dict(zip((names.get(title, title) for title in titles), cells, strict=True))
        if "Msg/sec" in told:
            told |= {"bandwidth_MBps": told["Mbytes/sec"], "message_rate_per_s": told["Msg/sec"]}
        _require_row(told, row.size_B)
        if "min_latency_us" in told and program == "IMB-MPI1":
            assert Decimal(told["min_latency_us"]) > 0


def _require_row(told, size_B):
    values = {name: Decimal(cell) for name, cell in told.items() if name != "validation"}
    if "min_latency_us" in values:
        assert values["min_latency_us"] <= values["latency_us"] <= values["max_latency_us"], told
    if "message_rate_per_s" in values:
        size = values.get("transmit_size", Decimal(size_B)) / 10**6
        rounding = HALF if "." in told["message_rate_per_s"] else Decimal("0.5")
        slack = (HALF + rounding * size) * Decimal("1.02")
        assert abs(values["bandwidth_MBps"] - values["message_rate_per_s"] * size) <= slack, told
    if "overlap_percent" in values and values["pure_comm_us"] > 1:
        spent = values["overall_us"] - values["compute_us"]
        share = 100 * (1 - spent / values["pure_comm_us"])
        slack = 100 * (Decimal("0.0101") + HALF * abs(spent) / values["pure_comm_us"]) / (values["pure_comm_us"] - HALF)
        assert abs(values["overlap_percent"] - min(max(share, Decimal(0)), Decimal(100))) <= slack + HALF * 2, told


def _bare(text):
    text = re.sub(r"[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", "?", re.sub(r"\r\n?", "\n", text))
    text = re.sub(r"\x1b\[[0-9;:]*m|\x1b\[K", "", text.replace("\ufeff", ""))
    return re.sub(r"(?m)^\[[\w.@-]*\d+,\d+\]<std(?:out|err)>:", "", text)


def require_ours(text, output, **asked):
    """Fail if an accepted output of our programs contradicts itself."""
    text = re.sub(r"\w+: [^\n:]+ \d+ of \d+, about \d+ s left\n", "", _bare(text))
    assert text.count("# fabric-checks ") == 1
    text = re.sub(r"(?ms)(^# complete: [^\n]*).*", r"\1", text[text.index("# fabric-checks ") :])
    table = text.split("\n# columns: ", 1)[1]
    titles, *rest = table.splitlines()
    titles = titles.split()
    assert len(set(titles)) == len(titles)
    last = next(at for at, line in enumerate(rest) if line.startswith("# complete: "))
    rows = [line.split() for line in rest[:last] if line.strip() and not line.startswith("#")]
    assert len(rows) == int(rest[last].split()[2])
    ranks = set(re.findall(r"(?m)^# ranks: (.*)$", text))
    hosts = set(re.findall(r"(?m)^# rank (\d+): ", text))
    assert not hosts or (len(ranks) == 1 and len(hosts) == int(next(iter(ranks)))), (ranks, hosts)
    for row in rows:
        told = dict(zip(titles, row, strict=True))
        for name in titles:
            if name.endswith("_ci_low_us"):
                value = name.removesuffix("_ci_low_us")
                low, median, high = (float(told[f"{value}{end}"]) for end in ("_ci_low_us", "_us", "_ci_high_us"))
                assert 0 <= low <= median <= high < float("inf"), told


def require_lammps(text, output, *, processes):
    """Fail if an accepted output of LAMMPS contradicts itself."""
    assert output.processes == processes
    assert abs(output.timesteps_per_s * output.loop_time_s / output.steps - 1) < 1e-4 + 0.001 / output.timesteps_per_s
    assert 95 <= sum(output.share_percent.values()) <= 105
    (loop,) = re.findall(r"(?m)^Loop time of (\S+) on \d+ procs for (\d+) steps", _bare(text))
    assert (float(loop[0]), int(loop[1])) == (output.loop_time_s, output.steps)


def require_npb(text, output, *, benchmark, problem_class, processes):
    """Fail if an accepted output of NPB contradicts itself."""
    report = _bare(text).split(" Benchmark Completed", 1)[1]
    report = re.split(r"\n Version +=", report)[0]
    told = dict(re.findall(r"(?m)^ ([A-Z][A-Za-z/ ]*?) *= *(\S.*?) *$", report))
    assert (told["Class"], told["Total processes"]) == (problem_class, str(processes))
    total, each = float(told["Mop/s total"]), float(told["Mop/s/process"])
    assert abs(total - each * processes) <= 0.006 * (processes + 1) + 1e-4 * total
    if benchmark == "is" and told.get("Size", "").isdigit():
        operations = int(told["Size"]) * int(told["Iterations"]) / 1e6
        assert abs(operations / total - float(told["Time in seconds"])) <= 0.01 + 0.01 / total, told


#: The requirements, by parser.
REQUIRE = {
    "osu": require_osu,
    "imb": require_imb,
    "lammps": require_lammps,
    "npb": require_npb,
    "nccl-tests": pair_oracle.require(pair_oracle.nccl),
    "nccl-tests-json": pair_oracle.require(pair_oracle.nccl_json),
    "mpigraph": pair_oracle.require(pair_oracle.mpigraph),
    "linktest": pair_oracle.require(pair_oracle.linktest),
    "superbench": pair_oracle.require(pair_oracle.superbench),
    "perftest": pair_oracle.require(pair_oracle.perftest),
    "clusterkit": pair_oracle.require(pair_oracle.clusterkit),
    "csv": pair_oracle.require(pair_oracle.plain),
    **dict.fromkeys(
        (
            "streaming",
            "overlap",
            "collective_overlap",
            "hot_spot",
            "latency_map",
            "buffer_reuse",
            "notification",
            "rotate",
            "placement",
        ),
        require_ours,
    ),
}
