# SPDX-License-Identifier: BSD-3-Clause
"""Lines of a perflog that are no sound records, and the cause that is given for each."""

import json

from tests.builders import record


def raw(text, field="findings"):
    """Return the line of a record with a piece of JSON text for a field's value, as no sound writer would."""
    return json.dumps(record(**{field: "@"})).replace('"@"', text).encode() + b"\n"


def lacking(field):
    return {name: value for name, value in record().items() if name != field}


#: What a compared value comes from, but its values.
OF = {"metric": "x", "quantity": "x", "unit": "us"}
#: Bad lines by name: each with the cause, which begins with the field if only one is concerned.
LINES = {
    "findings of texts": (record(findings=["x"]), "'findings' is"),
    "findings, a text": (record(findings="x"), "'findings' is 'x'"),
    "findings, an object": (record(findings={"text": "x"}), "'findings' is"),
    "findings without text": (record(findings=[{"kind": "x"}]), "'findings' is"),
    "findings whose text is none": (record(findings=[{"kind": "x", "text": 1}]), "'findings' is"),
    "findings whose hosts are none": (record(findings=[{"kind": "x", "text": "y", "hosts": 5}]), "'findings' is"),
    "findings whose size is none": (record(findings=[{"kind": "x", "text": "y", "size": "no"}]), "'findings' is"),
    "node_faults, a list": (record(node_faults=["n1"]), "'node_faults' is"),
    "findings of numbers": (record(findings=[1, 2]), "'findings' is"),
    "findings of null": (record(findings=[None]), "'findings' is"),
    "nodes, a text": (record(nodes="x"), "'nodes' is 'x', not an integer"),
    "nodes, a list": (record(nodes=[1]), "'nodes' is '[1]', not an integer"),
    "less than no nodes": (record(nodes=-1), "'nodes' is '-1', below zero"),
    "nodes, half of one": (record(nodes=0.5), "'nodes' is '0.5', not an integer"),
    "a negative size": (record(size_B=-8), "'size_B' is '-8', below zero"),
    "a link of less than nothing": (record(link_MBps=-1.0), "'link_MBps' is '-1.0', below zero"),
    "a link, a text": (record(link_MBps="fast"), "'link_MBps' is 'fast', not a finite number"),
    "about of two million": (record(about="t" * 2_000_000), "'about' is longer than 1048576 bytes"),
    "a truth of texts": (record(can_be_zero="no"), "'can_be_zero' is 'no', not true or false"),
    "a truth of numbers": (record(can_be_zero=1), "'can_be_zero' is '1', not true or false"),
    "a size beyond all": (raw(str(2**70), "size_B"), "'size_B' is"),
    "nodelist of numbers": (record(nodelist=[1, 2]), "'nodelist' is"),
    "nodelist, an object": (record(nodelist={"n1": 1}), "'nodelist' is"),
    "placement of lists": (record(placement=[["n1", 0]]), "'placement' is"),
    "not_offered, a list": (record(not_offered=["npb"]), "'not_offered' is"),
    "not_offered without reasons": (record(not_offered={"npb": None}), "'not_offered' is"),
    "parameters, a list": (record(parameters=["a"]), "'parameters' is"),
    "parameters of lists": (record(parameters={"a": [1]}), "'parameters' is"),
    "parameters of null": (record(parameters={"a": None}), "'parameters' is"),
    "sizes of texts": (record(sizes_B=["8"]), "'sizes_B' is"),
    "compared, a list": (record(compared=[1, 2]), "'compared' is"),
    "compared without unit": (record(compared={**OF, "unit": None, "values": {"1x1": 1}}), "'compared' is"),
    "compared without values": (record(compared=OF), "'compared' is"),
    "compared with texts": (record(compared={**OF, "values": {"1x1": "a"}}), "'compared' is"),
    "compared with a list": (record(compared={**OF, "values": [1, 2]}), "'compared' is"),
    "a hundred thousand brackets": (raw("[" * 100_000 + "]" * 100_000), "nested too deeply"),
    "a hundred thousand objects": (raw('{"a":' * 100_000 + "1" + "}" * 100_000), "nested too deeply"),
    "brackets never closed": (b"[" * 10_000 + b"\n", "not a JSON object"),
    "the year 0000": (record(time="0000-01-01T00:00:00+00:00"), "the time is not in the years 1970 to 2200"),
    "the year 0001": (record(time="0001-01-01T00:00:00+00:00"), "the time is not in the years 1970 to 2200"),
    "the year 1969": (record(time="1969-12-31T23:59:59+00:00"), "the time is not in the years 1970 to 2200"),
    "the year 2201": (record(time="2201-01-01T00:00:00+00:00"), "the time is not in the years 1970 to 2200"),
    "the year 9999": (record(time="9999-12-31T23:59:59-12:00"), "the time is not in the years 1970 to 2200"),
    "no time": (record(time=None), "the record has no 'time'"),
    "a time, an object": (record(time={"a": 1}), "is not of the form"),
    "a system of 300 characters": (record(system="s" * 300), "'system' is longer than 80 bytes"),
    "a name of ten million": (record(test="t" * 10_000_000), "'test' is longer than 1000 bytes"),
    "a text of two million": (record(mpi="t" * 2_000_000), "'mpi' is longer than 1048576 bytes"),
    "a system, a list": (record(system=["s"]), "where a name is expected"),
    "a session, an object": (record(session={"a": record()["session"]}), "where a name is expected"),
    "no session": (record(session=None), "the record has no 'session'"),
    "no check": (lacking("check"), "the record has no 'check'"),
    "no format": (lacking("format"), "the record has no 'format'"),
    "another format": (record(format=99), "format '99' belongs to a different release"),
    "a value of 1e300": (record(value=1e300), "not a number up to 1e+30"),
    "a reference of 1e300": (record(reference=-1e300), "'reference' is '-1e"),
    "a reference, a text": (record(reference="fast"), "'reference' is 'fast', not a finite number"),
    "a bound, a list": (record(lower=[0]), "'lower' is '[0]', not a finite number"),
    "NaN": (raw("NaN", "value"), "NaN is not a JSON number"),
    "a number of 5000 digits": (raw("1" * 5000, "value"), "the line is left out"),
    "a metric without value": (record(value=None), "a metric but no value"),
    "an unknown unit": (record(unit="furlongs"), "unknown unit 'furlongs'"),
    "half a line": (json.dumps(record()).encode()[:200] + b"\n", "not a JSON object"),
    "a list": (b'["' + record()["session"].encode() + b'"]\n', "not a JSON object"),
    "binary": (bytes(range(11, 256)) + b"\n", "not a JSON object"),
    "another alphabet": (json.dumps(record(mpi="@")).encode().replace(b"@", b"\xff\xfe") + b"\n", "not UTF-8 text"),
    "two in one": (json.dumps(record()).encode() * 2 + b"\n", "not a JSON object (Extra data)"),
    "cut in the middle": (json.dumps(record()).encode()[:300] + b"\n", "not a JSON object (Unterminated string"),
    "garbage": (b"\x1b[2J*** boot ***\n", "not a JSON object: '\\x1b[2J*** boot ***'"),
    "a number": (b"17\n", "not a JSON object: '17'"),
    "null": (b"null\n", "not a JSON object: 'null'"),
    "an empty object": (b"{}\n", "the record has no 'format'"),
    "NUL bytes": (b"\0" * 1000 + b"\n", "not a JSON object: '\\x00"),
    "-Infinity": (raw("-Infinity", "value"), "-Infinity is not a JSON number"),
    "infinite": (raw("1e999", "value"), "'value' is 'inf', not a finite number"),
    "a huge integer": (raw("1" + "0" * 400, "value"), "not a finite number"),
    "more nodes than there are": (raw(str(2**63), "nodes"), "'nodes' is '9223372036854775808', not an integer"),
    "text for a value": (record(value="1.5"), "'value' is '1.5', not a finite number"),
    "true for a value": (record(value=True), "'value' is 'True', not a finite number"),
    "a list for a value": (record(value=[1.5]), "'value' is '[1.5]', not a finite number"),
    "a value without metric": (record(metric=None), "the record has a value but no metric"),
    "no unit": (record(unit=None), "the record has no 'unit'"),
    "a time without zone": (record(time="2026-01-31T12:00:00"), "the time '2026-01-31T12:00:00' is not of the form"),
    "no such day": (record(time="2026-02-30T12:00:00+00:00"), "the time '2026-02-30T12:00:00+00:00' is not"),
    "a time in words": (record(time="noon \x1b[31m\n"), "the time 'noon ?[31m ' is not of the form"),
    "nested deep, of an unknown field": (raw("[" * 100_000 + "]" * 100_000, "unknown"), "nested too deeply"),
    "never closed": (b'{"format": ' + b"[" * 100_000 + b"\n", "not a JSON object"),
}  # fmt: skip
