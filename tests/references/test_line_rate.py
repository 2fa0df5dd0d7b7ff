# SPDX-License-Identifier: BSD-3-Clause
"""References that are shares of the line rate."""

import pytest

from fabric_checks.core.errors import ReferenceError
from fabric_checks.core.extras import Extras
from fabric_checks.core.metrics import Metric
from fabric_checks.references import line_rate, reference_file
from tests.references import records

CASE = {"check": "OsuBandwidth", "partition": "s:p", "environ": "e", "layout": "2x1"}
METRICS = [
    Metric("bandwidth_8B", "MB/s", "larger"),
    Metric("bandwidth_4194304B", "MB/s", "larger"),
]
ITEM = "{check: OsuBandwidth, metric: bandwidth_4194304B, share_of_line_rate: 0.9, lower: -0.05}"


@pytest.fixture
def load(tmp_path):
    return lambda item: records.load(
        tmp_path,
        f"derived: [{item}]\nno_reference: [{{metric: bandwidth_8B, why: small}}]\n",
    )


def found(file, extras, metrics=METRICS, **changes):
    return line_rate.references(
        file.derived, metrics, Extras(**extras), "here", **CASE | changes
    )


def test_a_share_of_all_links_of_a_node(load):
    # 200 Gbit/s is 25000 MB/s.
    one = found(load(ITEM), {"link_MBps": 25000.0})
    assert one == {
        "bandwidth_4194304B": line_rate.FromLineRate(
            (22500.0, -0.05, None, "MB/s"), "derived: 0.9 x 1 NIC x 25000 MB/s"
        )
    }
    two = found(load(ITEM), {"link_MBps": 25000.0, "nics": 2})["bandwidth_4194304B"]
    assert two.reference[0] == 45000.0
    assert two.source == "derived: 0.9 x 2 NICs x 25000 MB/s"


def test_within_a_node_there_is_no_link(load):
    assert found(load(ITEM), {"link_MBps": 25000.0}, layout="1x2") == {}
    assert found(load(ITEM), {}, layout="1x2") == {}


def test_of_two_rules_the_first_counts(load):
    file = load(
        f"{ITEM}, {{metric: 'bandwidth_4.*', share_of_line_rate: 0.5, lower: 0}}"
    )
    assert found(file, {"link_MBps": 100.0})["bandwidth_4194304B"].reference[0] == 90.0
    assert (
        found(file, {"link_MBps": 100.0}, check="Other")[
            "bandwidth_4194304B"
        ].reference[0]
        == 50.0
    )


def test_a_line_rate_that_nobody_gave_is_an_error(load):
    with pytest.raises(
        ReferenceError, match=r"here: .* but s:p has no extras\['link_MBps'\]; add it"
    ):
        found(load(ITEM), {"nics": 1})


def test_what_is_no_bandwidth_is_an_error(load):
    with pytest.raises(
        ReferenceError,
        match="bandwidth_4194304B is in us, but a share of a line rate is in MB/s",
    ):
        found(
            load(ITEM),
            {"link_MBps": 1.0},
            [Metric("bandwidth_4194304B", "us", "smaller")],
        )


@pytest.mark.parametrize(
    "item, message",
    [
        (
            "{share_of_line_rate: 0.9, lower: -0.05}",
            "'metric' is missing: a regular expression",
        ),
        (
            "{metric: b, share_of_line_rate: 3, lower: -0.05}",
            "share_of_line_rate is 3; give a number above",
        ),
        ("{metric: b, share_of_line_rate: 0.9}", "has no bound"),
        (
            "{metric: b, share_of_line_rate: 0.9, lower: -1}",
            "lower is -1; give a number above -1",
        ),
        (
            "{metric: b, share_of_line_rate: 0.9, lower: 0, share: 1}",
            "share: unknown; known: check",
        ),
    ],
)
def test_malformed_rules(load, item, message):
    with pytest.raises(ReferenceError, match=message) as caught:
        load(item)
    assert "\n" not in str(caught.value)


def test_an_entry_goes_first_and_a_rule_before_a_reason(load):
    file = load(ITEM.replace("bandwidth_4194304B", "bandwidth_.*"))
    derived = found(file, {"link_MBps": 100.0})
    own = (80.0, -0.1, None, "MB/s")
    complete, reasons = reference_file.complete(
        file, {"bandwidth_4194304B": own}, METRICS, derived, **CASE
    )
    assert complete == {
        "bandwidth_4194304B": own,
        "bandwidth_8B": (90.0, -0.05, None, "MB/s"),
    }
    assert reasons == {}
    _, reasons = reference_file.complete(
        file, {"bandwidth_4194304B": own}, METRICS, {}, **CASE
    )
    assert reasons == {"bandwidth_8B": "small"}
