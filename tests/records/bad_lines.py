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


#: A line with a field that no release knows.
NESTED = text_of(record()).replace(
    b"{", b'{"new": ' + b"[" * 9999 + b"]" * 9999 + b", ", 1
)
#: What a compared value comes from, but its values.
OF = {"metric": "x", "quantity": "x", "unit": "us"}
#: Bad lines by name: each with the cause, which begins with the field if only one is concerned.
LINES = {
    "findings of texts": (record(findings=["x"]), "'findings[0]'"),
    "findings of unknown severity": (record(findings=[NOTE | {"severity": "bad"}]), "'findings[0].severity'"),
    "findings without text": (record(findings=[{"kind": "x", "severity": "note"}]), "'findings[0]'"),
    "findings whose hosts are none": (record(findings=[NOTE | {"hosts": 5}]), "'findings[0].hosts'"),
    "less than no nodes": (record(nodes=-1), "'nodes': expected `int` >= 0"),
    "more nodes than there are": (raw(str(2**63), "nodes"), "'nodes': expected `int`"),
    "a negative size": (record(size_B=-8), "'metrics[0].values[0].size_B': expected `int` >= 0"),
    "a link of less than nothing": (record(link_MBps=-1.0), "'link_MBps': expected `float` >= 0"),
    "a truth of numbers": (record(can_be_zero=1), "'metrics[0].can_be_zero': expected `bool"),
    "parameters of lists": (record(parameters={"a": [1]}), "'parameters"),
    "compared without values": (record(compared=OF), "'compared"),
    "a hundred thousand objects": (raw('{"a":' * 100_000 + "1" + "}" * 100_000), "nested too deeply"),
    "brackets never closed": (b"[" * 10_000 + b"\n", "nested too deeply"),
    "nested deep, of an unknown field": (NESTED, "nested too deeply"),
    "the year 0000": (record(time="0000-01-01T00:00:00+00:00"), "'time': invalid"),
    "the year 1969": (record(time="1969-12-31T23:59:59+00:00"), "the time is not in the years 1970 to 2200"),
    "the year 2201": (record(time="2201-01-01T00:00:00+00:00"), "the time is not in the years 1970 to 2200"),
    "a time without zone": (record(time="2026-01-31T12:00:00"),
                            "'time': expected `datetime` with a timezone"),
    "no time": (record(time=None), "missing required field `time`"),
    "a system of 300 characters": (record(system="s" * 300), "'system': expected `str` of length <= 80"),
    "a name of ten million": (record(test="t" * 10_000_000), "'test': expected `str` of length <= 1000"),
    "a session, an object": (record(session={"a": record()["session"]}), "'session': expected `str`"),
    "no session": (record(session=None), "missing required field `session`"),
    "no format": (lacking("format"), "missing required field `format`"),
    "another format": (record(format=99), "format '99' belongs to a different release"),
    "a value of 1e300": (record(value=1e300), "'metrics[0].values[0].value': expected `float` <= 1e+30"),
    "a reference, a text": (record(reference="fast"), "'metrics[0].values[0].reference': expected `float"),
    "text for a value": (record(value="1.5"), "'metrics[0].values[0].value': expected `float`"),
    "a metric without value": (record(value=None), "missing required field `value`"),
    "an unknown unit": (record(unit="furlongs"), "'metrics[0].unit': invalid enum value 'furlongs'"),
    "NaN": (raw("NaN", "value"), "not a JSON object"),
    "infinite": (raw("1e999", "value"), "out of range"),
    "a number of 5000 digits": (raw("1" * 5000, "value"), "out of range"),
    "half a line": (text_of(record())[:200] + b"\n", "not a JSON object"),
    "another alphabet": (json.dumps(record(mpi="@")).encode().replace(b"@", b"\xff\xfe") + b"\n",
                         "Invalid UTF-8"),
    "two in one": (text_of(record())[:-1] * 2 + b"\n", "trailing characters"),
    "garbage": (b"\x1b[2J*** boot ***\n", "'\\x1b[2J*** boot ***'"),
    "an empty object": (b"{}\n", "missing required field `format`"),
    "NUL bytes": (b"\0" * 1000 + b"\n", "'\\x00"),
}  # fmt: skip
