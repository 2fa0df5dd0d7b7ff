# SPDX-License-Identifier: BSD-3-Clause
"""The keys of a reference: the same as in ReFrame's own dictionary of references; and orphans."""

import pytest
from reframe.core.pipeline import RegressionTestDict, RegressionTestPlugin

from fabric_checks.references import lookup
from tests.references import records


def record(**fields):
    """Return a record as a row of a table."""
    return records.frame([records.record(**fields)]).row(0, named=True)


ENTRY = {
    "$index": ["queue_depth", "layout"],
    8: {"2x1": {"t": ["eight"]}, "2x.*": {"t": ["some"]}},
    16: {"2x.*": {"t": ["first"]}, "2x2": {"t": ["exact"]}},
    "3.": {".*": {"t": ["pattern"]}},
}


@pytest.mark.parametrize("depth", [8, 16, 64])
@pytest.mark.parametrize("layout", ["2x1", "2x2", "2x16", "4x1"])
def test_the_same_reference_as_reframe_finds(depth, layout):
    class Check(RegressionTestPlugin):
        queue_depth = depth

    Check.layout = layout
    name = f"Queue %queue_depth={depth} %layout={layout}"
    found = lookup.slot(
        {"Queue": ENTRY}, record(check="Queue", test=name, layout=layout, metric="t")
    )
    entry = {
        key: dict(value) if isinstance(value, dict) else tuple(value)
        for key, value in ENTRY.items()
    }
    try:
        expected = RegressionTestDict(entry)[object.__new__(Check)]["t"]
    except KeyError:
        expected = None
    assert found.reference == expected


def test_a_number_is_a_number_in_a_new_entry():
    slot = lookup.slot(
        {}, record(check="Queue", test="Queue %queue_depth=8 %layout=2x1")
    )
    assert slot.keys == ("yours:compute", "mpich-cray", 8, "2x1")


def test_a_new_key_stands_for_itself_only():
    slot = lookup.slot({}, record(environ="gcc+mpi"))
    assert slot.keys[1] == r"gcc\+mpi"
    assert lookup.slot({}, record(environ="gcc.mpi")).keys[1] == "gcc.mpi"
