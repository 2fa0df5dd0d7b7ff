# SPDX-License-Identifier: BSD-3-Clause
"""The text of Slurm's configuration files."""

from __future__ import annotations

import re
from pathlib import Path

from .spec import HEAD, Spec, address

CLUSTER = "minicluster"
PARTITION = "compute"
CONTROLLER_PORT, NODE_PORT, DATABASE_PORT = 6817, 6818, 6819
DATABASE = "slurm"
# slurmdbd would make the database after its first connect has failed, but on such a handle each query of
# MariaDB's client 3.4.10 (11.8.9) fails, which slurmdbd 24.11 and 26.05 take as fatal.
CREATE_DATABASE = f"CREATE DATABASE IF NOT EXISTS {DATABASE};\n"
# The first Slurm that can do without cgroups. From 24.11 on slurmd refuses to run in a PID namespace where
# there is only cgroup v2.
WITHOUT_CGROUPS = (23, 2)
# Slurm waits so long for a silent slurmd before the node is down and its jobs have failed.
NODE_TIMEOUT = 10


def _text(settings: dict[str, object]) -> str:
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def slurm_conf(spec: Spec, folder: Path) -> str:
    socket = folder / "munge" / "socket"
    settings: dict[str, object] = {
        "ClusterName": CLUSTER,
        "SlurmctldHost": f"{HEAD}({address(HEAD)})",
        "SlurmUser": spec.account.name,
        "SlurmdUser": spec.account.name,
        "AuthType": "auth/munge",
        "CredType": "cred/munge",
        "AuthInfo": f"socket={socket}",
        "SlurmctldPort": CONTROLLER_PORT,
        "SlurmdPort": NODE_PORT,
        "StateSaveLocation": folder / "state",
        # The folders are on the machine's one file system: without %n the nodes would share them.
        "SlurmdSpoolDir": folder / "spool" / "%n",
        "TmpFS": folder / "tmp" / "%n",
        "SlurmctldPidFile": folder / "run" / "slurmctld.pid",
        "SlurmdPidFile": folder / "run" / "slurmd.%n.pid",
        "SlurmctldLogFile": folder / "log" / "slurmctld.log",
        "SlurmdLogFile": folder / "log" / "slurmd.%n.log",
        "ProctrackType": "proctrack/linuxproc",
        # With binding, every host's first rank would be on the machine's first core.
        "TaskPlugin": "task/none",
        "JobAcctGatherType": "jobacct_gather/none",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_Core",
        "MpiDefault": "pmi2",
        # A node has as many cores as configured, whatever the machine has.
        "SlurmdParameters": "config_overrides",
        "TreeWidth": 65533,
        "PropagateResourceLimits": "NONE",
        "SchedulerParameters": "batch_sched_delay=1,sched_min_interval=100000,bf_interval=1",
        "ReturnToService": 2,
        "JobRequeue": 0,
        "SlurmctldTimeout": 30,
        "SlurmdTimeout": NODE_TIMEOUT,
        "KillWait": 5,
        "MinJobAge": 600,
        "MailProg": "/bin/true",
    }
    if spec.accounting:
        settings |= {
            "AccountingStorageType": "accounting_storage/slurmdbd",
            "AccountingStorageHost": HEAD,
            "AccountingStoragePort": DATABASE_PORT,
            "AccountingStoragePass": socket,
        }
    else:
        settings["AccountingStorageType"] = "accounting_storage/none"
    if spec.switches:
        settings["TopologyPlugin"] = "topology/tree"
    layout = f"CPUs={spec.cores} Boards=1 SocketsPerBoard=1 CoresPerSocket={spec.cores} ThreadsPerCore=1"
    nodes = "".join(
        f"NodeName={host} NodeAddr={address(host)} {layout} RealMemory=1024 State=UNKNOWN\n"
        for host in spec.hosts
    )
    partition = (
        f"PartitionName={PARTITION} Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"
    )
    return _text(settings) + nodes + partition


def cgroup_conf(version: str) -> str:
    """Return the settings for cgroups, which no host uses; none for a Slurm that does not know them.

    :param version: as ``slurmd -V`` prints it: ``slurm-wlm 24.11.5``.
    """
    found = re.search(r"(\d+)\.(\d+)", version)
    is_new = found is not None and (int(found[1]), int(found[2])) >= WITHOUT_CGROUPS
    return "CgroupPlugin=disabled\n" if is_new else ""


def topology_conf(spec: Spec) -> str:
    leaves = spec.hosts_of_switches
    lines = [
        f"SwitchName={switch} Nodes={','.join(hosts)}\n"
        for switch, hosts in leaves.items()
    ]
    return "".join([*lines, f"SwitchName=spine Switches={','.join(leaves)}\n"])


def slurmdbd_conf(spec: Spec, folder: Path) -> str:
    return _text(
        {
            "AuthType": "auth/munge",
            "AuthInfo": f"socket={folder / 'munge' / 'socket'}",
            "DbdHost": HEAD,
            "DbdAddr": address(HEAD),
            "DbdPort": DATABASE_PORT,
            "SlurmUser": spec.account.name,
            "LogFile": folder / "log" / "slurmdbd.log",
            "PidFile": folder / "run" / "slurmdbd.pid",
            "StorageType": "accounting_storage/mysql",
            "StorageHost": "localhost",
            "StorageUser": "root",
            "StorageLoc": DATABASE,
        }
    )
