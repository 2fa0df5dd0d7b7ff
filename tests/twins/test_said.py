# SPDX-License-Identifier: BSD-3-Clause
"""Statements of the documents without a number about several clusters: direction and rough factor, on their twins.

Statements about one cluster are references of its twin (`said` in config/twins).
"""

import pytest

from fabric_checks.parsers import hot_spot, notification, overlap
from fabric_twins.smpirun import FEWEST
from tests.conftest import TESTS
from tests.twins.simulation import SOURCES, shipped, simgrid

pytestmark = simgrid

SIZES_B = (8, 1024, 4096, 16384, 32768, 65536)
LONG_B = (*SIZES_B, 262144, 1048576)


def not_so(reason):
    """Mark what a twin does not do; if it ever does, the reason is out of date."""
    return pytest.mark.xfail(reason=reason, strict=True, raises=AssertionError)


@pytest.fixture(scope="module")
def collective_us(simulator):
    """Return a function that times a collective on a twin, for each size, on 16 nodes."""
    done = {}

    def of(name, ppn, collective, sizes=SIZES_B):
        if (name, ppn) not in done:
            text = simulator.output(shipped(name), 16, ppn, TESTS / "twins" / "collectives.c")
            rows = [line.split() for line in text.splitlines() if not line.startswith("#")]
            done[name, ppn] = {(what, int(size)): float(us) for what, size, us in rows}
        return {size: done[name, ppn][collective, size] for size in sizes}

    return of


@pytest.fixture
def advantage(collective_us, report_table):
    """Return a function that tells how many times longer red-squall takes than cbc, for each size (SAND 4.2, 4.3.3)."""

    def of(collective, ppn=1):
        slow, fast = (collective_us(name, ppn, collective) for name in ("red-squall", "cbc"))
        lines = [f"{size:>6} B: red-squall {slow[size]:9.2f} us, cbc {fast[size]:9.2f} us" for size in SIZES_B]
        report_table(f"Twins: {collective} on 16 nodes, {ppn} ppn", lines)
        return {size: slow[size] / fast[size] for size in SIZES_B}

    return of


@not_so(
    "what a call costs each twin is that of its point-to-point messages; the report does not say what cost Elan4 more"
)
def test_alltoall_of_small_messages_is_about_ten_times_better_on_cbc(advantage):
    assert 5 < advantage("alltoall")[8] < 20


@not_so("the advantage at small messages is not there, so it does not shrink either")
def test_the_advantage_at_alltoall_shrinks_with_the_size(advantage):
    ratios = advantage("alltoall")
    assert ratios[8] > ratios[16384]


def test_alltoall_is_never_worse_on_cbc(advantage):
    assert min(advantage("alltoall").values()) > 1


def test_bcast_of_small_messages_is_about_three_times_better_on_cbc(advantage):
    assert 2 < advantage("bcast")[8] < 4.5


@not_so("red-squall was fitted to a N1/2 of 3393 B, so at 1 KB its messages still cost more than those of cbc")
def test_bcast_is_alike_at_a_kilobyte(advantage):
    assert advantage("bcast")[1024] == pytest.approx(1, rel=0.25)


def test_allreduce_is_slightly_better_on_cbc_at_every_size(advantage):
    assert all(1 < ratio < 1.5 for ratio in advantage("allreduce").values())


def test_allreduce_with_two_processes_a_node_is_about_equal(advantage):
    assert all(0.75 < ratio < 1.33 for ratio in advantage("allreduce", ppn=2).values())


@not_so("at 8 B only: red-squall was fitted to a N1/2 of 3393 B, and its longer messages cost more than those of cbc")
def test_allreduce_at_2_ppn_is_slightly_better_on_red_squall_from_4_kilobytes(advantage):
    ratios = advantage("allreduce", ppn=2)
    assert all(ratios[size] < 1 for size in (4096, 16384, 32768))


@pytest.fixture
def exchange_MBps(collective_us, report_table):
    """Return a function that tells what a rank moves on a twin, to and from two neighbours, by size (SAND Figure 4)."""

    def of(name):
        times = collective_us(name, 1, "exchange", LONG_B)
        rates = {size: 4 * size / us for size, us in times.items()}
        report_table(
            f"Twins: exchange on 16 nodes of {name}", [f"{b:>7} B: {each:7.1f} MB/s" for b, each in rates.items()]
        )
        return rates

    return of


def test_exchange_on_red_squall_saturates_its_bus_at_32_kilobytes(exchange_MBps):
    rates = exchange_MBps("red-squall")
    assert list(rates.values()) == sorted(rates.values())
    assert rates[4096] < 0.9 * rates[1048576] and rates[32768] > 0.95 * rates[1048576]


def test_exchange_on_cbc_grows_up_to_64_kilobytes(exchange_MBps):
    rates = exchange_MBps("cbc")
    assert [rates[size] for size in SIZES_B] == sorted(rates[size] for size in SIZES_B)


@not_so(
    "within its calls a processor moves long messages both ways as fast as the adapter; what its copies cost beyond"
    " that is not published"
)
def test_exchange_on_cbc_falls_beyond_64_kilobytes(exchange_MBps):
    rates = exchange_MBps("cbc")
    assert rates[262144] < rates[65536]


@pytest.fixture(scope="module")
def at_size(simulator):
    """Return a function that runs a program on nodes of a twin at one message size, and parses its output."""

    def of(name, program, size_B, parse, nodes=2):
        sizes = ("--min-size", str(size_B), "--max-size", str(size_B))
        return parse(simulator.output(shipped(name), nodes, 1, SOURCES / f"{program}.c", *sizes, *FEWEST), [size_B])

    return of


@pytest.fixture(scope="module")
def send_overhead_us(at_size):
    """Return the effective latency of MPI_Isend at 8 B on the clusters of the report (SAND section 5)."""
    names = ("cbc", "red-squall", "escher", "spirit")
    return {name: at_size(name, "overlap", 8, overlap.parse).by_size("isend_overhead_us")[8] for name in names}


def test_the_effective_send_latency_is_lowest_on_cbc(send_overhead_us):
    assert min(send_overhead_us, key=send_overhead_us.get) == "cbc"


@not_so(
    "escher was fitted to 2.23 us between streamed messages (SAND Table 2), red-squall to 1.07, which processors spend"
)
def test_the_effective_send_latency_is_highest_on_red_squall(send_overhead_us):
    assert max(send_overhead_us, key=send_overhead_us.get) == "red-squall"


def test_the_effective_send_latencies_of_escher_and_spirit_are_alike(send_overhead_us):
    assert send_overhead_us["escher"] == pytest.approx(send_overhead_us["spirit"], rel=0.25)


THREE = ("osu-ib", "osu-myrinet", "osu-quadrics")


@pytest.fixture(scope="module")
def host(at_size):
    """Return what MPI_Isend costs the hosts of OSU03: overhead at 8 B in us, availability at 64 KiB in %."""
    return {
        name: (
            at_size(name, "overlap", 8, overlap.parse).by_size("isend_overhead_us")[8],
            at_size(name, "overlap", 65536, overlap.parse).by_size("isend_availability_percent")[65536],
        )
        for name in THREE
    }


@not_so(
    "what the processors have of the latency is assumed, a quarter each, on InfiniBand and on Myrinet, and follows from"
    " the hot spot on Quadrics"
)
def test_host_overhead_is_least_on_myrinet_and_most_on_infiniband(host):
    assert host["osu-myrinet"][0] < host["osu-quadrics"][0] < host["osu-ib"][0]


def test_in_bandwidth_tests_all_three_leave_most_of_the_host(host):
    assert all(available > 75 for _, available in host.values())


@pytest.fixture(scope="module")
def polling_us(at_size):
    """Return the ping-pong latency at 8 B of a host that polls (OSU03, notification)."""
    return {name: at_size(name, "notification", 8, notification.parse).times_us("test")[8] for name in THREE}


@not_so(
    "a simulated MPI_Test costs the same on each, so what is left is the latency; and nothing waits for an interrupt,"
    " so what is said of that cannot be tried"
)
def test_polling_costs_least_on_quadrics_and_most_on_myrinet(polling_us):
    assert polling_us["osu-quadrics"] < polling_us["osu-ib"] < polling_us["osu-myrinet"]


@pytest.fixture(scope="module")
def growth(at_size):
    """Return how many times longer seven slaves take than one, collecting 8 B from each (OSU03, hot spot)."""
    slaves = hot_spot.slave_counts(8)
    found = {}
    for name in THREE:
        output = at_size(name, "hot_spot", 8, lambda text, sizes: hot_spot.parse(text, sizes, slaves), nodes=8)
        times = output.times_us("send_receive", size_B=8)
        found[name] = times[slaves[-1]] / times[slaves[0]]
    return found


def test_the_hot_spot_grows_on_infiniband_and_on_myrinet(growth):
    assert growth["osu-ib"] > 1.3 and growth["osu-myrinet"] > 1.3


def test_the_hot_spot_grows_less_on_quadrics(growth):
    assert growth["osu-quadrics"] < 0.8 * min(growth["osu-ib"], growth["osu-myrinet"])


def test_the_hot_spot_is_worst_on_myrinet(growth):
    assert growth["osu-myrinet"] > 1.1 * growth["osu-ib"]
