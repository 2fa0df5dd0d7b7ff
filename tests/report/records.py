# SPDX-License-Identifier: BSD-3-Clause
"""Records made up for the tests of the report: a machine on which everything was measured."""

import re
from datetime import datetime, timedelta, timezone

from fabric_checks.core.families import PAIRS
from fabric_checks.records.record import FIELDS
from tests import builders
from tests.report.recorded import declared

NOON = datetime(2026, 11, 1, 12, tzinfo=timezone.utc)
SIZES_B = (0, 1, 8, 64, 4096, 65536, 1048576)


def record(metric="latency", value=1.0, **fields):
    """Return a whole record; a point of a curve is known by its name, as in ``latency_8B``."""
    quantity, _, end = metric.rpartition("_")
    point = end.endswith("B") and end[:-1].isdigit() and metric != "message_rate_8B"
    layout = fields.get("layout", "2x1")
    nodes, ppn = (
        map(int, layout.split("x")) if re.fullmatch(r"\d+x\d+", layout) else (2, 1)
    )
    check = fields.pop("check", "Streaming")
    parameters = fields.pop("parameters", {})
    axes = "".join(f" %{name}={text}" for name, text in parameters.items())
    found = dict.fromkeys(FIELDS) | {
        "format": 3, "session": "20261101T120000Z-0001", "time": NOON, "collection": "0.1.0+g123456789abc",
        "reframe": "4.10.4", "system": "oak", "partition": "compute", "environ": "mpich", "check": check,
        "test": f"{check}{axes} %layout={layout}", "parameters": parameters, "layout": layout, "nodes": nodes,
        "ppn": ppn, "tasks": nodes * ppn, "metric": metric, "quantity": quantity if point else metric,
        "size_B": int(end[:-1]) if point else None, "value": value, "unit": "us", "better": "smaller",
        "can_be_zero": False, "no_reference": "none yet", "result": "pass", "case_result": "pass",
        "program": "fabric-checks streaming", "program_version": "1", "stack": "built", "mpi": "MPICH 5.0.2",
        "compiler": "gcc 12.2.0", "nodelist": [f"oak{number:02}" for number in range(nodes)],
        "binding": "core",
    }  # fmt: skip
    return found | declared(check, found["quantity"], parameters) | fields


def failure(**fields):
    """Return the record of a case that failed before it had values."""
    failed = {"case_result": "fail", "fail_reason": "node oak03 was lost"} | fields
    return record(**failed) | builders.NOTHING


def curve(quantity, values, **fields):
    """Return the records of a curve over :data:`SIZES_B`."""
    return [
        record(f"{quantity}_{size}B", value, **fields)
        for size, value in zip(SIZES_B, values, strict=True)
    ]


def frame(records):
    """Return records as they are loaded, in the order of time."""
    return builders.frame(records, side="here").sort("time", maintain_order=True)


def lines(records):
    """Return records as the lines of a perflog."""
    return builders.text_of(
        *(record | {"time": record["time"].isoformat()} for record in records)
    ).decode()


TIMES_US = (1.0, 1.1, 1.2, 1.5, 5.0, 50.0, 700.0)


def streaming(layout="2x1", factor=1.0, **fields):
    """Return a run of Streaming: with ``factor`` 2 everything takes twice as long."""
    larger = {"layout": layout, "unit": "MB/s", "better": "larger"} | fields
    scalars = [
        record("zero_byte_latency_ping_pong", 1.0 * factor, layout=layout, **fields),
        record("zero_byte_latency_streaming", 0.5 * factor, layout=layout, **fields),
        record("zero_byte_latency_reduction", 50.0, **(larger | {"unit": "%"})),
        record("message_rate_8B", 2.0 / factor, **(larger | {"unit": "Mmsg/s"})),
        record("peak_bandwidth_ping_pong", 1500 / factor, **larger),
        record("peak_bandwidth_streaming", 1600 / factor, **larger),
        record("peak_bandwidth_exchange", 2900 / factor, **larger),
        record(
            "half_peak_size_ping_pong",
            8000,
            **(larger | {"unit": "B", "better": "smaller"}),
        ),
    ]
    for mode in ("ping_pong", "streaming", "bidirectional_ping_pong"):
        scalars += curve(
            f"{mode}_time",
            [factor * time for time in TIMES_US],
            layout=layout,
            **fields,
        )
    return scalars


def imb(check, benchmark, layout, **fields):
    """Return a benchmark of IMB: times, and bandwidths."""
    common = {
        "check": check,
        "layout": layout,
        "parameters": {"benchmark": benchmark},
        "program": "IMB-MPI1",
    } | fields
    rates = (0.0, 1.0, 7.0, 60.0, 800.0, 1300.0, 1490.0)
    return [
        *curve("time", TIMES_US, **common),
        *curve("bandwidth", rates, unit="MB/s", better="larger", **common),
    ]


def everything(**fields):
    """Return the records of a machine on which all was measured that the report shows."""
    percent = {"unit": "%", "better": "larger"}
    shares = (10.0, 20.0, 30.0, 40.0, 50.0, 80.0, 95.0)
    records = [*streaming("2x1", **fields), *streaming("1x2", 0.5, **fields)]
    for layout in ("2x1", "1x2"):
        records += imb("ImbPointToPoint", "PingPong", layout, **fields)
        records += imb("ImbParallel", "Sendrecv", layout, **fields)
    records += imb("ImbParallel", "Exchange", "16x1", **fields)
    for name in ("Allreduce", "Alltoall", "Bcast"):
        records += imb("ImbCollective", name, "16x1", **fields)
    records += imb("ImbCollective", "Allreduce", "16x2", **fields)
    for transfer in ("isend", "irecv"):
        at = {"check": "Overlap", "parameters": {"poll": "none"}} | fields
        records += curve(f"{transfer}_overhead", TIMES_US, **at)
        records += curve(f"{transfer}_availability", shares, **(at | percent))
    for problem in ("lj", "rhodo"):
        for nodes in (1, 2, 4):
            of = {"problem": problem, "scaling": "fixed"}
            at = {"check": "LammpsPpnSeries", "parameters": of, "unit": "s"} | fields
            records += [
                record(
                    f"loop_time_{nodes}x{ppn}", 8.0 / nodes / ppn, layout="4x2", **at
                )
                for ppn in (1, 2)
            ]
    records.append(record("efficiency_4x2", 88.0, layout="4x2", **(at | percent)))
    for operation in ("send", "send_receive"):
        at = {"check": "HotSpot", "layout": "4x1"} | fields
        records.append(record(f"{operation}_growth", 1.5, **at, unit="1"))
        records += [
            record(f"{operation}_time_to_{n}_8B", 2.0 + n, **at) for n in (1, 2, 3)
        ]
    both = {
        "metric": "latency_8B",
        "quantity": "latency",
        "unit": "us",
        "values": {"2x1": 2.0, "1x2": 1.0},
    }
    at = {
        "check": "OsuLatencyPpnRatio",
        "layout": "1x2",
        "unit": "1",
        "family": PAIRS,
    } | fields
    records.append(record("latency_ratio_8B", 0.5, compared=both, **at))
    at = {
        "check": "Rotate",
        "parameters": {"pattern": "rotate"},
        "layout": "4x1",
    } | fields
    at |= {"unit": "MB/s", "better": "larger"}
    blamed = [
        {
            "kind": "receiver",
            "severity": "fault",
            "text": "node oak02 receives at 0.41 of the median from everybody",
        }
    ]
    records += [record("median_bandwidth", 998.7, findings=blamed, **at)]
    records += [
        record("slowest_to_median", 40.1, findings=blamed, **(at | {"unit": "%"}))
    ]
    judged = {
        "check": "OsuLatency",
        "no_reference": None,
        "reference": 1.0,
        "upper": 0.1,
    }
    judged |= {"reference_source": "the offer"}
    records.append(record("latency_8B", 1.05, **judged, **fields))
    records.append(
        record(
            "latency_64B",
            1.5,
            **judged,
            **({"result": "fail", "case_result": "fail"} | fields),
        )
    )
    records.append(
        failure(
            check="HotSpot",
            layout="8x1",
            not_offered={"npb": "no wheel has it"},
            **fields,
        )
    )
    return records


def twenty_thousand():
    """Return about 20,000 values: 68 collectives on three MPIs in seven layouts."""
    return [
        row
        for environ in ("mpich", "openmpi", "impi")
        for layout in ("2x1", "4x1", "8x1", "8x2", "16x1", "16x2", "32x1")
        for name in range(68)
        for row in imb("ImbCollective", f"Benchmark{name}", layout, environ=environ)
    ]


def later(records, days, factor=1.0):
    """Return the same run again, some days later."""
    return [
        row
        | {
            "time": row["time"] + timedelta(days=days),
            "session": f"202611{1 + days:02}T120000Z-0001",
            "value": None if row["value"] is None else row["value"] * factor,
        }
        for row in records
    ]
