# SPDX-License-Identifier: BSD-3-Clause
"""PBS's texts of jobs, nodes and queues are read as meant; those of jobs and nodes are of a real OpenPBS."""

import json

import pytest

from fabric_checks.schedulers import model
from fabric_checks.schedulers.pbs import output as pbs
from tests.breakages import refused
from tests.schedulers.stand_ins import Pbs

PRINTED = Pbs.printed


def job(name, **more):
    (printed,) = json.loads((PRINTED / f"{name}.json").read_text())["Jobs"].values()
    (found,) = pbs.parse_jobs(json.dumps({"Jobs": {"7.head": printed | more}})).values()
    return found


NODES = pbs.parse_nodes(Pbs.nodes("nodes"))
BUSY = pbs.parse_nodes(Pbs.nodes("busy_nodes"))


@pytest.mark.parametrize(
    "name, state, status, nodes, reason",
    [
        ("pending", "QUEUED", None, (), "Server job limit has been reached."),
        (
            "never",
            "QUEUED",
            None,
            (),
            "Can Never Run: Not enough total nodes available",
        ),
        ("held", "HELD", None, (), "it is held (Hold_Types u)"),
        ("dependency", "HELD", None, (), "it waits for afterok:5.head@head"),
        ("running", "RUNNING", None, ("n1", "n2"), ""),
        ("completed", "COMPLETED", 0, ("n1", "n2"), ""),
        ("failed", "FAILED", 3, ("n1", "n2"), ""),
        ("timeout", "TIMEOUT", -29, ("n1", "n2"), ""),
        ("cancelled", "CANCELLED", 0, ("n1", "n2"), ""),
        ("cancelled_waiting", "CANCELLED", None, (), ""),
        ("node_lost", "FAILED", 0, ("n1", "n2"), ""),
        ("first_node_lost", "FAILED", -20, ("n3", "n4"), ""),
    ],
)
def test_jobs(name, state, status, nodes, reason):
    found = job(name)
    assert found.state == state
    assert found.exit_status == status
    assert found.nodes == nodes
    assert found.reason == reason
    assert found.least_nodes == (9 if name == "never" else 2)
    assert found.waits == (state in ("QUEUED", "HELD"))
    assert found.has_ended == (state not in ("QUEUED", "HELD", "RUNNING"))
    assert (found.began or "")[:10] == ("2026-11-22" if nodes else "")


def test_several_jobs_and_one_that_is_unknown():
    # Two were asked for: OpenPBS prints the first.
    assert [
        each.exit_status
        for each in pbs.parse_jobs((PRINTED / "two.json").read_text()).values()
    ] == [0]
    assert list(pbs.parse_jobs((PRINTED / "one_unknown.json").read_text())) == [
        "2.head"
    ]
    assert pbs.parse_jobs('{"timestamp": 1}') == {}


@pytest.mark.parametrize("text", ["[]", '{"Jobs": {"1": {}}}', "qstat: Unknown Job Id"])
def test_another_text_is_no_list_of_jobs(text):
    with refused("qstat printed no list of jobs"):
        pbs.parse_jobs(text)


def test_terminal_controls_are_taken_out():
    assert job("cancelled", comment="a\x1b[2Jb\nc").comment.isprintable()


def test_nodes():
    assert model.faults(NODES) == {
        "n2": "n2 is down",
        "n3": "n3 is down",
        "n4": 'n4 is offline (broken "cable")',
    }
    assert [node.name for node in BUSY if node.is_busy] == [
        "n1",
        "n2",
    ] and not model.faults(BUSY)


@pytest.mark.parametrize(
    "name, more, says, blamed",
    [
        (
            "timeout",
            {},
            "ran on n1, n2; it ran over its time limit (Exit_status -29; Job run",
            (),
        ),
        (
            "timeout",
            {"Exit_status": -30},
            "ran on n1, n2; a node of it failed (Exit_status -30",
            (),
        ),
        (
            "timeout",
            {"Exit_status": -26},
            "ran on n1, n2; it ran out of memory (Exit_status -26",
            (),
        ),
        (
            "cancelled",
            {},
            "ran on n1, n2; it was cancelled, but not by this session (Exit_status 0;",
            (),
        ),
        (
            "cancelled_waiting",
            {},
            "had not started; it was cancelled, but not by this session (substate",
            (),
        ),
        (
            "node_lost",
            {},
            "ran on n1, n2; a node of it failed (Exit_status 0; Job run",
            ("n2",),
        ),
        (
            "first_node_lost",
            {},
            "ran on n3, n4; a node of it failed (Exit_status -20",
            ("n3", "n4"),
        ),
    ],
)
def test_exit_reasons(name, more, says, blamed):
    reason = pbs.exit_reason(
        "7.head", job(name, **more), NODES if "lost" in name else BUSY
    )
    assert reason.text.startswith(f"job 7.head {says}")
    assert tuple(reason.node_faults) == blamed


def test_ends_that_the_output_or_nothing_explains():
    assert (
        pbs.exit_reason("7", job("completed"), BUSY)
        is pbs.exit_reason("7", job("failed"), BUSY)
        is None
    )
    assert (
        "PBS ended it (Exit_status 0;"
        in pbs.exit_reason("7", job("node_lost"), []).text
    )


LISTED = (
    "n1\n     state = free\n     resources_available.ncpus = 8\n\n"
    "n2\n     state = down\n     pcpus = 4\n     queue = b\n"
)
QUEUE = (
    "Queue: {}\n    queue_type = Execution\n    enabled = {}\n    started = True\n\n"
)


def test_a_node_of_a_queue_is_of_no_other():
    one, two = pbs.queues(
        LISTED, QUEUE.format("a", True) + QUEUE.format("b", True), "a"
    )
    assert [(queue.name, queue.nodes, queue.cores, queue.is_default) for queue in (one, two)] == [
        ("a", 1, 8, True), ("b", 0, None, False),
    ]  # fmt: skip
    assert one.out_of_service == 0
    assert two.out_of_service == 1


def test_queues_that_take_no_jobs():
    (one,) = pbs.queues(LISTED, QUEUE.format("a", False))
    assert not one.takes_jobs
    assert pbs.queues(LISTED, "Queue: r\n    queue_type = Route\n") == []


def test_another_text_is_no_list_of_queues():
    with refused("no node: 'pbsnodes: Server has no node list"):
        pbs.queues("pbsnodes: Server has no node list MSG", "")
    with refused("line 1: an attribute that belongs to nothing"):
        pbs.queues("   state = free", "")


def vnode(name, host=None, state="free", ncpus=8, **more):
    """Return a vnode as `pbsnodes -a` prints it; :param more: attributes, with two underscores for a dot."""
    of = {
        "state": state,
        "resources_available.host": host or name,
        "resources_available.ncpus": ncpus,
    } | {key.replace("__", "."): value for key, value in more.items()}
    return (
        f"{name}\n"
        + "".join(f"     {key} = {value}\n" for key, value in of.items())
        + "\n"
    )


def queue(name, kind="Execution", **more):
    lines = [f"    {key.replace('__', '.')} = {value}\n" for key, value in more.items()]
    return (
        f"Queue: {name}\n    queue_type = {kind}\n    enabled = True\n"
        f"    started = True\n{''.join(lines)}\n"
    )


def seen(nodes, *queues):
    return {
        each.name: (each.nodes, each.cores)
        for each in pbs.queues(nodes, "".join(queues))
    }


@pytest.mark.parametrize(
    "vnodes, hosts, cores, faults",
    [
        # github.com/marbl/canu/issues/166: a cpuset machine of 24 vnodes, one host.
        (
            "".join(
                vnode(f"uv[{n}]", "uv", ("job-exclusive", "free")[n % 2])
                for n in range(24)
            ),
            1,
            192,
            {},
        ),
        (vnode("n1", ncpus=0) + vnode("n1[0]", "n1") + vnode("n1[1]", "n1"), 1, 16, {}),
        (
            vnode("n1[0]", "n1", "offline") + vnode("n1[1]", "n1") + vnode("n2"),
            2,
            8,
            {},
        ),
        (
            vnode("n1[0]", "n1", "down")
            + vnode("n1[1]", "n1", "offline")
            + vnode("n2"),
            1,
            8,
            {"n1": "n1 is down"},
        ),
        (
            vnode("n1", ncpus=0) + vnode("n1[0]", "n1", "stale") + vnode("n2"),
            1,
            8,
            {"n1": "n1 is stale"},
        ),
        (vnode("n1", state="sleep") + vnode("n2", state="provisioning"), 2, 8, {}),
    ],
    ids=[
        "canu 166",
        "natural vnode",
        "one of two is off",
        "both are off",
        "natural alone",
        "sleeps",
    ],
)
def test_vnodes_of_a_host_are_one_node(vnodes, hosts, cores, faults):
    assert seen(vnodes, queue("q")) == {"q": (hosts, cores)}
    assert model.faults(pbs.parse_nodes(vnodes)) == faults


@pytest.mark.parametrize(
    "asked, c1, g1",
    [
        # docs.metacentrum.cz, advanced/queues-in-meta
        (
            ("queue_list", "q_gpu_long"),
            "queue_list = q_default",
            "queue_list = q_gpu,q_gpu_long",
        ),
        # Palmetto (Clemson), a listing in a lesson of The Carpentries: blanks behind commas
        (
            ("qcat", "skystd_qcat"),
            "qcat = c2_workq_qcat",
            "qcat = skylight_qcat, skystd_qcat, c2_workq_qcat",
        ),
        (("has_gpu", "True"), "has_gpu = False", "has_gpu = True"),
        (("has_gpu", "True"), "other = 1", "has_gpu = True"),
        (("ngpus", "1"), "ngpus = 0", "ngpus = 4"),
    ],
    ids=["MetaCentrum", "Palmetto", "boolean", "boolean of one", "number"],
)
def test_a_resource_of_the_site_ties_nodes_to_queues(asked, c1, g1):
    nodes = (
        vnode("c1")[:-1]
        + f"     resources_available.{c1}\n\n"
        + vnode("g1", ncpus=64)[:-1]
    )
    nodes += f"     resources_available.{g1}\n"
    tied = queue("tied", **{f"default_chunk__{asked[0]}": asked[1]})
    assert seen(nodes, tied, queue("free")) == {"tied": (1, 64), "free": (2, 8)}


def test_amounts_of_a_chunk_and_resources_of_no_node_tie_nothing():
    small = queue(
        "q", default_chunk__ncpus=1, default_chunk__mem="4gb", default_chunk__mpiprocs=1
    )
    assert seen(
        vnode("n1", resources_available__mem="1gb")
        + vnode("n2", resources_available__mem="2gb"),
        small,
    ) == {"q": (2, 8)}


def test_a_queue_that_only_takes_routed_jobs_is_offered_as_the_one_that_routes():
    behind = queue("normal-exec", from_route_only=True, default_chunk__Qlist="n")
    nodes = vnode("n1", resources_available__Qlist="n") + vnode(
        "n2", resources_available__Qlist="x"
    )
    found = seen(
        nodes, queue("normal", "Route", route_destinations="normal-exec,other"), behind
    )
    assert found == {"normal": (1, 8)}


def test_the_nodes_of_a_queue_also_of_one_that_routes():
    behind = queue("normal-exec", from_route_only=True, default_chunk__Qlist="n")
    nodes = vnode("n1", resources_available__Qlist="n") + vnode(
        "n2", state="down", resources_available__Qlist="n"
    )
    nodes += vnode("n3", resources_available__Qlist="x")
    queues = queue("normal", "Route", route_destinations="normal-exec,gone") + behind
    for name in ("normal", "normal-exec"):
        found = pbs.nodes_of(name, nodes, queues)
        assert [(node.name, node.fault, node.is_lost) for node in found] == [
            ("n1", None, False), ("n2", "n2 is down", True)
        ]  # fmt: skip
    with refused(r"qstat -Qf lists no queue 'x\\x1b'"):
        pbs.nodes_of("x\x1b", nodes, queues)


def test_a_long_value_that_qstat_wraps_is_whole():
    text = (
        queue("q").rstrip("\n") + "\n    default_chunk.Qlist = a_very_long_na\n\tme\n"
    )
    assert pbs.blocks(text)["q"]["default_chunk.Qlist"] == "a_very_long_name"
