# SPDX-License-Identifier: BSD-3-Clause
import pytest

from ci.minicluster import spec
from ci.minicluster.errors import ClusterError

HOSTS = ["n1", "n2", "n3"]


@pytest.mark.parametrize(
    "rate, bits",
    [("2.5gbit", 2_500_000_000), ("100mbit", 10**8), ("64kbit", 64_000), ("9bit", 9)],
)
def test_rates(rate, bits):
    assert spec.bits_per_second(rate) == bits


@pytest.mark.parametrize(
    "rate", ["", "1", "-1gbit", "0mbit", "1gbps", "1 gbit", "1e9bit"]
)
def test_what_is_no_rate(rate):
    with pytest.raises(ClusterError, match="is not a rate; write it as 1gbit"):
        spec.parse_rate(rate)


def test_shapes():
    both = {
        "n1.send": "1gbit",
        "n1.receive": "1gbit",
        "n3.send": "none",
        "n3.receive": "none",
    }
    assert spec.parse_shapes(["n1=1gbit", "n3=none"], HOSTS) == both
    assert spec.parse_shapes(["n1.send=1gbit", "n1.receive=2gbit"], HOSTS) == {
        "n1.send": "1gbit",
        "n1.receive": "2gbit",
    }
    assert spec.parse_shapes(["n2.send=none,loss=0.1%,delay=1.5ms"], HOSTS) == {
        "n2.send": "none,delay=1.5ms,loss=0.1%"
    }
    assert spec.parse_shapes([], HOSTS) == {}


def test_links():
    assert spec.parse_link("1gbit") == spec.Link("1gbit")
    rough = spec.parse_link("1gbit,delay=100us,loss=2%")
    assert rough == spec.Link("1gbit", "100us", "2%")
    assert rough.is_rough
    assert not spec.Link("1gbit").is_rough
    assert spec.parse_link(str(rough)) == rough


@pytest.mark.parametrize(
    "texts, says",
    [
        (["n1"], "'n1' is not NODE=RATE; write it as n1=100mbit"),
        (["n4=1gbit"], "no node is called 'n4'; the nodes are n1 to n3"),
        (["n1=1gbit", "n1=none"], "n1 has two rates, 1gbit and none"),
        (["n1=1gbit", "n1.send=none"], "n1 has two rates, 1gbit and none"),
        (
            ["n1.up=1gbit"],
            "'n1.up' is not a direction of a link; write n1.send or n1.receive",
        ),
        (
            ["n1=1gbit,delay=fast"],
            "'delay=fast' is neither a delay nor a loss; write delay=100us or loss=1%",
        ),
        (["n1=1gbit,jitter=1us"], "'jitter=1us' is neither"),
        (["n1=1gbit,loss=1%,loss=2%"], "gives loss twice; give it once"),
    ],
)
def test_wrong_shapes(texts, says):
    with pytest.raises(ClusterError, match=says):
        spec.parse_shapes(texts, HOSTS)


def make(**more):
    values = {
        "name": "x",
        "nodes": 3,
        "cores": 2,
        "accounting": True,
        "account": spec.Account("me", 7, 8, True),
    }
    return spec.Spec(**(values | more))


def test_a_shape_goes_before_the_rate():
    made = make(rate="1gbit", shapes={"n2.send": "100mbit", "n3.receive": "none"})
    assert [made.link_of(host, "send") for host in made.hosts] == [
        "1gbit",
        "100mbit",
        "1gbit",
    ]
    assert [made.link_of(host, "receive") for host in made.hosts] == [
        "1gbit",
        "1gbit",
        "none",
    ]
    assert not made.is_rough and make(shapes={"n2.send": "none,loss=1%"}).is_rough


def test_a_spec_survives_being_written():
    made = make(shapes={"n2.send": "100mbit,delay=1ms"})
    assert spec.from_dict(made.as_dict()) == made
    # The index has clusters of other clones, too.
    assert spec.from_dict(made.as_dict() | {"of_a_later_release": 1}) == made
