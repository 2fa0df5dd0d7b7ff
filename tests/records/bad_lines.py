# SPDX-License-Identifier: BSD-3-Clause
"""Lines of a perflog that are no sound records, and the cause that is given for each."""

import itertools
import json

from tests import builders
from tests.builders import text_of

_NUMBERS = itertools.count()


def record(**changes):
    """Return a record of a case of its own."""
    return builders.record(**{"jobid": f"bad {next(_NUMBERS)}"} | changes)


NOTE = {"kind": "x", "severity": "note", "text": "y"}


def raw(text, field="findings"):
    """Return the lines of a record with a piece of JSON text for a field's value, as no sound writer
    would."""
    return text_of(record(**{field: "@"})).replace(b'"@"', text.encode())


def lacking(field):
    return {name: value for name, value in record().items() if name != field}


#: Lines of a record with a field that no release knows.
NESTED = text_of(record()).replace(b"{", b'{"format": 3, "new": ' + b"[" * 9999 + b"]" * 9999 + b", ", 1)
#: What a compared value comes from, but its values.
OF = {"metric": "x", "quantity": "x", "unit": "us"}
#: Bad lines by name: each with the cause, which begins with the field if only one is concerned.
LINES = {
    "findings of texts": (record(findings=["x"]), "'findings"),
    "findings, a text": (record(findings="x"), "'findings'"),
    "findings, an object": (record(findings={"text": "x"}), "'findings"),
    "findings of unknown severity": (record(findings=[NOTE | {"severity": "bad"}]), "'findings"),
    "findings without severity": (record(findings=[{"kind": "x", "text": "y"}]), "'findings"),
    "findings without text": (record(findings=[{"kind": "x", "severity": "note"}]), "'findings"),
    "findings whose text is none": (record(findings=[NOTE | {"text": 1}]), "'findings"),
    "findings whose hosts are none": (record(findings=[NOTE | {"hosts": 5}]), "'findings"),
    "findings whose size is none": (record(findings=[NOTE | {"size": "no"}]), "'findings"),
    "node_faults, a list": (record(node_faults=["n1"]), "'node_faults"),
    "findings of numbers": (record(findings=[1, 2]), "'findings"),
    "findings of null": (record(findings=[None]), "'findings"),
    "nodes, a text": (record(nodes="x"), "'nodes': expected `int"),
    "nodes, a list": (record(nodes=[1]), "'nodes': expected `int"),
    "less than no nodes": (record(nodes=-1), "'nodes': expected `int` >= 0"),
    "nodes, half of one": (record(nodes=0.5), "'nodes': expected `int"),
    "a negative size": (record(size_B=-8), "'metrics[0].others[...][1]': expected `int` >= 0"),
    "a link of less than nothing": (record(link_MBps=-1.0), "'link_MBps': expected `float` >= 0"),
    "a link, a text": (record(link_MBps="fast"), "'link_MBps': expected `float"),
    "about of two million": (record(about="t" * 2_000_000), "'about': expected `str` of length <= 1048576"),
    "a truth of texts": (record(can_be_zero="no"), "'metrics[0].can_be_zero': expected `bool"),
    "a truth of numbers": (record(can_be_zero=1), "'metrics[0].can_be_zero': expected `bool"),
    "a size beyond all": (raw(str(2**70), "size_B"), "'metrics[0].others"),
    "nodelist of numbers": (record(nodelist=[1, 2]), "'nodelist"),
    "nodelist, an object": (record(nodelist={"n1": 1}), "'nodelist"),
    "placement of lists": (record(placement=[["n1", 0]]), "'placement"),
    "not_offered, a list": (record(not_offered=["npb"]), "'not_offered"),
    "not_offered without reasons": (record(not_offered={"npb": None}), "'not_offered"),
    "parameters, a list": (record(parameters=["a"]), "'parameters"),
    "parameters of lists": (record(parameters={"a": [1]}), "'parameters"),
    "parameters of null": (record(parameters={"a": None}), "'parameters"),
    "sizes of texts": (record(sizes_B=["8"]), "'sizes_B"),
    "compared, a list": (record(compared=[1, 2]), "'metrics[0].compared"),
    "compared without unit": (record(compared={**OF, "unit": None, "values": {"1x1": 1}}), "'compared"),
    "compared without values": (record(compared=OF), "'compared"),
    "compared with texts": (record(compared={**OF, "values": {"1x1": "a"}}), "'compared"),
    "compared with a list": (record(compared={**OF, "values": [1, 2]}), "'compared"),
    "a hundred thousand brackets": (raw("[" * 100_000 + "]" * 100_000), "nested too deeply"),
    "a hundred thousand objects": (raw('{"a":' * 100_000 + "1" + "}" * 100_000), "nested too deeply"),
    "brackets never closed": (b"[" * 10_000 + b"\n", "not a JSON object"),
    "the year 0000": (record(time="0000-01-01T00:00:00+00:00"), "'time': invalid"),
    "the year 0001": (record(time="0001-01-01T00:00:00+00:00"), "the time is not in the years 1970 to 2200"),
    "the year 1969": (record(time="1969-12-31T23:59:59+00:00"), "the time is not in the years 1970 to 2200"),
    "the year 2201": (record(time="2201-01-01T00:00:00+00:00"), "the time is not in the years 1970 to 2200"),
    "the year 9999": (record(time="9999-12-31T23:59:59-12:00"), "the time is not in the years 1970 to 2200"),
    "no time": (record(time=None), "missing required field `time`"),
    "a time, an object": (record(time={"a": 1}), "'time': expected `datetime`"),
    "a system of 300 characters": (record(system="s" * 300), "'system': expected `str` of length <= 80"),
    "a name of ten million": (record(test="t" * 10_000_000), "'test': expected `str` of length <= 1000"),
    "a text of two million": (record(mpi="t" * 2_000_000), "'mpi': expected `str` of length"),
    "a system, a list": (record(system=["s"]), "'system': expected `str`"),
    "a session, an object": (record(session={"a": record()["session"]}), "'session': expected `str`"),
    "no session": (record(session=None), "missing required field `session`"),
    "no check": (lacking("check"), "missing required field `check`"),
    "no format": (lacking("format"), "missing required field `format`"),
    "another format": (record(format=99), "format '99' belongs to a different release"),
    "a value of 1e300": (record(value=1e300), "'value': expected `float` <= 1e+30"),
    "a reference of 1e300": (record(reference=-1e300), "'reference': expected `float` >= -1e+30"),
    "a reference, a text": (record(reference="fast"), "'reference': expected `float"),
    "a bound, a list": (record(lower=[0]), "'lower': expected `float"),
    "NaN": (raw("NaN", "value"), "not a JSON object"),
    "a number of 5000 digits": (raw("1" * 5000, "value"), "the line is left out"),
    "a metric without value": (record(value=None), "missing required field `value`"),
    "an unknown unit": (record(unit="furlongs"), "'unit': invalid enum value 'furlongs'"),
    "half a line": (text_of(record())[:200] + b"\n", "not a JSON object"),
    "a list": (b'["' + record()["session"].encode() + b'"]\n', "not a JSON object"),
    "binary": (bytes(range(11, 256)) + b"\n", "not a JSON object"),
    "another alphabet": (json.dumps(record(mpi="@")).encode().replace(b"@", b"\xff\xfe") + b"\n",
                         "Invalid UTF-8"),
    "two in one": (json.dumps(record()).encode() * 2 + b"\n", "trailing characters"),
    "cut in the middle": (text_of(record())[:300] + b"\n", "truncated"),
    "garbage": (b"\x1b[2J*** boot ***\n", "'\\x1b[2J*** boot ***'"),
    "a number": (b"17\n", "not a JSON object: '17'"),
    "null": (b"null\n", "not a JSON object: 'null'"),
    "an empty object": (b"{}\n", "missing required field `format`"),
    "NUL bytes": (b"\0" * 1000 + b"\n", "'\\x00"),
    "-Infinity": (raw("-Infinity", "value"), "not a JSON object"),
    "infinite": (raw("1e999", "value"), "out of range"),
    "a huge integer": (raw("1" + "0" * 400, "value"), "'value': number out of range"),
    "more nodes than there are": (raw(str(2**63), "nodes"), "'nodes': expected `int`"),
    "text for a value": (record(value="1.5"), "'value': expected `float`"),
    "true for a value": (record(value=True), "'value': expected `float`"),
    "a list for a value": (record(value=[1.5]), "'value': expected `float`"),
    "a value without metric": (record(metric=None), "missing required field `metric`"),
    "no unit": (record(unit=None), "missing required field `unit`"),
    "a time without zone": (record(time="2026-01-31T12:00:00"),
                            "'time': expected `datetime` with a timezone"),
    "no such day": (record(time="2026-02-30T12:00:00+00:00"), "'time': invalid"),
    "a time in words": (record(time="noon \x1b[31m\n"), "'time': invalid"),
    "nested deep, of an unknown field": (NESTED, "nested too deeply"),
    "never closed": (b'{"format": ' + b"[" * 100_000 + b"\n", "not a JSON object"),
}  # fmt: skip
