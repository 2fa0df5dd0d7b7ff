# SPDX-License-Identifier: BSD-3-Clause
"""Slurm's texts of jobs, nodes and partitions are read as meant. Those of jobs and nodes are of Slurm
22.05.8."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from fabric_checks.schedulers.slurm import output as slurm
from tests.breakages import refused

PENDING = (
    "JobId=4 JobName=wrap UserId=root(0) Priority=4294901756 JobState=PENDING"
    " Reason=Nodes_required_for_job_are_DOWN,_DRAINED_or_reserved_for_jobs_in_higher_priority_partitions"
    " Dependency=(null) ExitCode=0:0 RunTime=00:00:00 TimeLimit=00:01:00 Partition=compute"
    " AllocNode:Sid=head:0 ReqNodeList=(null) ExcNodeList=n9 NodeList= NumNodes=2-2 NumCPUs=2"
)
ENDED = (
    "JobId=5 JobName=a JobState=FAILED Reason=NonZeroExitCode ExitCode=3:0 Partition=a,b ReqNodeList=n7"
    " ExcNodeList=n9 NodeList=n[1-2] BatchHost=n1 NumNodes=2 NumCPUs=4"
)
NODE = (
    "NodeName={name} Arch=x86_64 CPUAlloc=0 NodeHostName={name} Version=22.05.8 RealMemory=1024 State={state}"
    " ThreadsPerCore=1 Partitions={partitions}  BootTime=2026-11-21T12:10:59 ExtSensorsTemp=n/s{rest}"
)


def node(name, state="IDLE", partitions="compute", rest=""):
    (found,) = slurm.parse_nodes(
        NODE.format(name=name, state=state, partitions=partitions, rest=rest)
    )
    return found


DRAINED = node(
    "n2", "IDLE+DRAIN", rest=" Reason=broken cable [root@2026-11-21T12:28:06]"
)
SILENT = node(
    "n2",
    "DOWN+NOT_RESPONDING",
    rest=" Reason=Not responding [slurm@2026-11-21T12:28:06]",
)


def test_a_pending_job():
    job = slurm.parse_job(PENDING)
    assert job.state == "PENDING"
    assert job.exit_status == 0
    assert job.nodes == () and job.waits and job.began is None
    assert job.least_nodes == 2
    assert job.reason.startswith(
        "Nodes required for job are DOWN, DRAINED or reserved for jobs in"
    )
    assert job.partitions == {"compute"}


@pytest.mark.parametrize(
    "exit_code, status", [("3:0", 3), ("0:9", 137), ("0:0", 0), ("1:15", 1)]
)
def test_a_job_that_has_ended(exit_code, status):
    job = slurm.parse_job(ENDED.replace("3:0", exit_code) + " Reservation=w")
    assert job.state == "FAILED"
    assert job.exit_status == status
    assert job.nodes == ("n1", "n2") and job.has_ended
    assert job.partitions == {"a", "b"} and job.reservation == "w"


def test_a_job_that_is_tidied_up_has_all_its_nodes():
    details = "   Nodes=n[1-2] CPU_IDs=0-1 Mem=0 GRES=   Nodes=n3 CPU_IDs=0 Mem=0 GRES= MinCPUsNode=1"
    line = ENDED.replace("FAILED", "COMPLETING").replace("n[1-2]", "n2")
    assert slurm.parse_job(f"{line} JOB_GRES=(null){details}").nodes == (
        "n1",
        "n2",
        "n3",
    )
    assert slurm.parse_job(f"{line} Reservation=(null)").nodes == ("n2",)


@pytest.mark.parametrize("key", ["JobState", "ExitCode", " NodeList", "NumNodes"])
def test_a_line_without_a_field_of_a_job_names_it(key):
    with refused(f"scontrol prints no {key.strip()}: "):
        slurm.parse_job(PENDING.replace(f"{key}=", " Other="))


def test_a_node_in_service():
    found = node("n1", "MIXED+PLANNED", "a,b")
    assert (found.name, found.is_busy, found.partitions, found.fault) == (
        "n1",
        True,
        {"a", "b"},
        None,
    )


@pytest.mark.parametrize(
    "found, fault",
    [
        (DRAINED, "n2 is drained (broken cable)"),
        (SILENT, "n2 does not respond"),
        (node("n3", "DOWN*"), "n3 does not respond"),
        (node("n3", "DOWN", rest=" Reason=a=b c [x@y] Comment=late"), "n3 is down (a=b c)"),
        (node("n3", "IDLE+DRAIN", rest=" Reason=bad cable [root@2026-11-29T09:50:17] ReservationName=flex"),
         "n3 is drained (bad cable)"),
        (node("n3", "IDLE+DRAIN", rest=" Reason=a [b] c ReservationName=flex"), "n3 is drained (a [b] c)"),
        (node("n3", "ALLOCATED+MAINTENANCE"), "n3 is in maintenance"),
        # github.com/aws/aws-parallelcluster-node, pull request 416: `scontrol reboot`
        (node("n3", "DOWN+CLOUD+REBOOT_ISSUED"), "n3 reboots"),
        (node("n3", "DOWN+DRAIN+NOT_RESPONDING+REBOOT_ISSUED"), "n3 is drained"),
        # github.com/aws/aws-parallelcluster-node, pull requests 350 and 402: nodes that could not be woken
        (node("n3", "DOWN+CLOUD+POWERED_DOWN+NOT_RESPONDING",
              rest=" Reason=ResumeTimeout reached [slurm@now]"),
         "n3 is down (ResumeTimeout reached)"),
        (node("n3", "DOWN*+CLOUD+POWER"), "n3 is down"),
    ],
)  # fmt: skip
def test_a_node_out_of_service_has_its_reason(found, fault):
    assert found.fault == fault


@pytest.mark.parametrize(
    "state, is_busy",
    [
        # github.com/aws/aws-parallelcluster-node, pull requests 350, 402 and 404, Slurm 20 and 21
        ("IDLE+CLOUD+POWERED_DOWN", False),
        ("ALLOCATED+CLOUD+NOT_RESPONDING+POWERING_UP", True),
        ("MIXED#+CLOUD", True),
        # github.com/fasrc/slurm-diamond-collector, pull request 1: nodes of its own
        ("IDLE*+POWER", False),
        ("IDLE~", False),
        ("ALLOCATED+NOT_RESPONDING+REBOOT_ISSUED", True),
        ("IDLE+BLOCKED", True),
    ],
)
def test_a_node_that_saves_power_or_reboots_is_in_service(state, is_busy):
    found = node("n1", state)
    assert found.fault is None
    assert found.is_busy == is_busy


@pytest.mark.parametrize(
    "state, names, nodes, says",
    [
        ("NODE_FAIL", ["n1", "n2"], [node("n1"), SILENT],
         "job 7 ran on n1, n2; a node of it failed (NODE_FAIL): n2 does not respond"),
        ("TIMEOUT", ["n1"], [node("n1"), SILENT], "job 7 ran on n1; it ran over its time limit (TIMEOUT)"),
        ("CANCELLED", [], [DRAINED],
         "job 7 had not started; it was cancelled, but not by this session (CANCELLED)"),
        ("FAILED", ["n1", "n2"], [DRAINED],
         "job 7 ran on n1, n2; it failed (FAILED): n2 is drained (broken cable)"),
        # Its output says why.
        ("FAILED", ["n1", "n2"], [node("n1"), node("n2")], None),
        ("COMPLETED", ["n1"], [node("n1")], None),
    ],
)  # fmt: skip
def test_why_a_job_ended(state, names, nodes, says):
    job = replace(slurm.parse_job(ENDED), state=state, nodes=tuple(names))
    reason = slurm.exit_reason("7", job, nodes)
    assert (reason and reason.text) == says
    if reason:
        assert list(reason.node_faults) == [
            node.name for node in nodes if node.fault and node.name in names
        ]


def test_the_node_that_slurm_says_failed_is_named_where_it_is_back():
    job = slurm.parse_job(f"{ENDED} FailedNode=n2")
    lost = replace(job, state="NODE_FAIL")
    reason = slurm.exit_reason("7", lost, [node("n1"), node("n2")])
    assert dict(reason.node_faults) == {"n2": "n2 failed"}
    assert slurm.parse_job(ENDED).failed_node == ""


def test_a_reservation_and_its_nodes_for_its_own_jobs():
    line = (
        "ReservationName=w StartTime=2026-01-02T03:04:05 EndTime=x Nodes=n[1-8] NodeCnt=8 Flags=MAINT"
        " State={}"
    )
    assert slurm.parse_reservation(line.format("ACTIVE")) == (
        "n[1-8]",
        "2026-01-02T03:04:05",
        True,
    )
    assert not slurm.parse_reservation(line.format("INACTIVE"))[2]
    with refused("prints no ReservationName"):
        slurm.parse_reservation("No reservations in the system")
    lines = [NODE.format(name=name, state=state, partitions="a", rest="")
             for name, state in (("n1", "IDLE+MAINT+RESERVED"), ("n2", "IDLE+DRAIN+MAINT"))]  # fmt: skip
    planned, drained = slurm.parse_nodes("\n".join(lines), reserved=True)
    assert planned.fault is None
    assert not planned.is_busy
    assert drained.fault == "n2 is drained"


def test_groups_of_one_name_are_one_partition():
    one, two = slurm.queues(
        "all*|up|4|1|2|idle|(null)\n\nb|drain|1|2+|8|idle|N/A\nall*|down|2|1|4|down*|gpu:4\n"
    )
    assert (one.name, one.nodes, one.cores, one.differ, one.out_of_service) == (
        "all",
        4,
        2,
        False,
        2,
    )
    assert (one.is_default, one.takes_jobs, one.gpus) == (True, True, "")
    assert (two.nodes, two.cores, two.differ) == (1, 16, True)
    assert (two.is_default, two.takes_jobs, two.gpus) == (False, False, "")
    assert slurm.queues("a*|up|4|1|2|idle|(null)\na*|up|1|1|2+|idle|(null)\n")[
        0
    ].differ  # one group of two
    assert slurm.queues("") == []


@pytest.mark.parametrize(
    "gres, gpus", [("gpu:4", "gpu:4"), ("(null)", ""), ("gpu:8", "")]
)
def test_a_partition_has_the_gpus_that_all_of_its_nodes_in_service_have(gres, gpus):
    (one,) = slurm.queues(
        f"a|up|1|1|2|idle|gpu:4\na|up|5|1|2|idle|{gres}\na|up|1|1|2|down*|(null)\n"
    )
    assert one.gpus == gpus


@pytest.mark.parametrize(
    "states, in_service",
    [
        ("idle mixed allocated completing planned reserved maint down^", 8),
        (
            "idle~ mixed# allocated idle! idle% powering_up powered_down reboot^ idle@",
            9,
        ),
        (
            "down down* drained drained* draining fail failing error inval unknown unk* future",
            0,
        ),
        ("down~ drained~ idle*", 0),
    ],
    ids=[
        "takes jobs",
        "saves power or reboots",
        "out of service",
        "out of service and off",
    ],
)
def test_a_partition_offers_its_nodes_in_service(states, in_service):
    states = states.split()
    (found,) = slurm.queues(
        "".join(f"all*|up|1|1|4|{state}|(null)\n" for state in states)
    )
    assert found.nodes == in_service
    assert found.out_of_service == len(states) - in_service
    assert found.cores == 4


@pytest.mark.parametrize("line", ["a|up|x|1|2|idle|n", "sinfo: error: timeout"])
def test_lines_of_another_form(line):
    with refused("line 2: not a group of nodes as requested"):
        slurm.queues(f"b|up|1|1|1|idle|(null)\n{line}\n")


def test_limits():
    listed = "a|up|9|1|2|idle|(null)\nb|up|9|1|2|idle|(null)\n"
    limits = "PartitionName=a MaxNodes=4 State=UP\nPartitionName=b MaxNodes=UNLIMITED\nMaxNodes=1\n"
    assert [queue.most_nodes for queue in slurm.queues(listed, limits)] == [4, None]


#: What ``srun --mpi=list`` prints, by where it is from, and the types that can be used.
PRINTED = re.findall(
    r"(?ms)^## (.*?) ->(.*?)\n(.*?\n)(?=## |\Z)",
    Path(__file__).with_name("mpi_types.txt").read_text(),
)
LISTED = "MPI plugin types are...\n\tnone\n\tpmix\n\tpmi2\n"
NO_LIBRARY = "mpi/pmix_v5: init: (null) [0]: mpi_pmix.c:193: pmi/pmix: can not load PMIx library\n"


@pytest.mark.parametrize("source, types, text", PRINTED)
def test_mpi_types_are_those_whose_plugins_load(source, types, text):
    assert slurm.mpi_types(text) == types.split(), source


def test_the_plugins_that_do_not_load_have_names():
    assert slurm.broken_mpi_types(f"{LISTED}srun: error: {NO_LIBRARY}") == ["pmix_v5"]
    assert slurm.broken_mpi_types(LISTED) == []


def test_no_list_of_mpi_types():
    with refused("not a list of MPI types: 'slurm_load_ctl_conf error'"):
        slurm.mpi_types("slurm_load_ctl_conf error")


def test_settings():
    assert (
        slurm.settings(
            "A         = x = y\nClusterName             = c\nNo value  = \n"
        )["ClusterName"]
        == "c"
    )
