# SPDX-License-Identifier: BSD-3-Clause
"""NVLinks that went down, and messages of the kernel, while a program ran."""

from dataclasses import replace

from fabric_checks.core.finding import Severity
from fabric_checks.ports import events, states
from fabric_checks.ports.snapshots import Host
from tests.ports.samples import node, texts

UP = {("0", "0"): "26.562 GB/s", ("0", "1"): "26.562 GB/s", ("1", "0"): "26.562 GB/s"}
XID = "NVRM: Xid (PCI:0000:18:00): 79, pid=1234, GPU has fallen off the bus."
CALM = "mlx5_core 0000:17:00.0: firmware version: 28.39.1002"


def with_links(name, before, after):
    return replace(node(name, host=Host(nvlink=after)), nvlink_before=before)


def test_a_link_that_went_down_is_a_fault_of_its_gpu():
    after = UP | {("0", "1"): "<inactive>"}
    (found,) = events.nvlinks([with_links("n1", UP, UP), with_links("n2", UP, after)])
    assert found.severity is Severity.FAULT and found.hosts == ("n2",)
    assert found.data == {"gpu": "0"} and found.key == "gpu n2 NVLink of GPU 0"
    assert found.text == (
        "node n2: NVLink 1 of GPU 0 is inactive after the program, and was 26.562 GB/s before it"
    )


def test_links_that_are_as_they_were_or_unknown_are_none():
    down = UP | {("0", "1"): "<inactive>"}
    for before, after in ((down, down), (down, UP), (UP, {}), ({}, UP), ({}, {})):
        assert not [*events.nvlinks([with_links("n1", before, after)])]


def test_a_gpu_that_left_the_fabric_is_a_fault():
    before, after = (
        {("2", "fabric"): state} for state in ("Completed, Success", "In Progress, N A")
    )
    (found,) = events.nvlinks([with_links("n1", before, after)])
    assert "the NVLink fabric of GPU 2 is In Progress, N A after" in found.text


def test_a_node_with_fewer_links_than_the_others_is_named():
    down = UP | {("0", "1"): "<inactive>"}
    nodes = [with_links(name, UP, UP) for name in ("n1", "n2", "n3")]
    nodes.append(with_links("n4", down, down))
    (found,) = states.outliers(nodes, {})
    assert found.hosts == ("n4",) and "active NVLinks of GPU 0 is 1" in found.text


def test_of_a_program_that_ran_only_what_alarms_is_told_of_one_that_failed_all():
    nodes = [node("n1", host=Host(messages=(CALM, XID)))]
    (found,) = events.kernel_messages(nodes, failed=False)
    assert found.severity is Severity.SUSPECT and found.details == (XID,)
    (found,) = events.kernel_messages(nodes, failed=True)
    assert found.details == (CALM, XID)
    calm = [node("n1", host=Host(messages=(CALM,)))]
    assert not [*events.kernel_messages(calm, failed=False)]


def test_messages_are_short_lines_of_text():
    hostile = "mlx5\x1b[31m\nerror: n2 is slow " + "x" * 1000
    nodes = [node("n1", host=Host(messages=(hostile,) * 20))]
    (found,) = events.kernel_messages(nodes, failed=True)
    assert len(found.details) == 8 and "13" in found.details[-1]
    assert all(each.isprintable() and len(each) <= 160 for each in found.details)
    texts([found])


def test_a_log_that_cannot_be_read_is_told_of_failures_alone():
    nodes = [node(name, host=Host(unread="EPERM")) for name in ("n1", "n2")]
    assert not [*events.kernel_messages(nodes, failed=False)]
    (found,) = events.kernel_messages(nodes, failed=True)
    assert found.severity is Severity.NOTE and found.hosts == ("n1", "n2")
    needs = (
        "kernel log cannot be read here (needs CAP_SYSLOG, kernel.dmesg_restrict=0, or"
    )
    assert needs in found.text
