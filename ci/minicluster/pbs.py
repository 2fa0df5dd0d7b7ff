# SPDX-License-Identifier: BSD-3-Clause
"""OpenPBS: its database, pbs_comm, pbs_server and pbs_sched on the head; pbs_mom on the hosts."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import ClassVar

from . import mounts
from .daemons import Daemon, listens
from .errors import ClusterError
from .processes import PATIENCE
from .scheduler import Scheduler
from .spec import HEAD, Spec, address

SERVER_PORT, MOM_PORT, COMM_PORT = 15001, 15002, 17001
#: The owner of PBS's database, which Debian's package has made: PostgreSQL does not run as root.
OWNER = "postgres"
# The head and the hosts have a /run of their own: PBS takes no folder below /tmp, where anybody may write,
# and there PostgreSQL puts its socket, which would meet those of other clusters, and be left.
RUN = Path("/run")
HOMES = RUN / "pbs"
# So long after a host was lost its jobs are ended.
NODE_TIMEOUT = 10

# Folders of PBS with their modes: PBS refuses others.
_OF_HEAD = {
    "server_priv": 0o750,
    "server_priv/accounting": 0o755,
    "server_priv/jobs": 0o750,
    "server_priv/users": 0o750,
    "server_priv/hooks": 0o750,
    "server_priv/hooks/tmp": 0o750,
    "server_logs": 0o755,
    "sched_priv": 0o750,
    "sched_logs": 0o755,
    "comm_logs": 0o755,
    "spool": 0o1777,
}
_OF_HOST = {
    "aux": 0o755,
    "checkpoint": 0o700,
    "mom_priv": 0o751,
    "mom_priv/jobs": 0o751,
    "mom_priv/hooks": 0o750,
    "mom_priv/hooks/tmp": 0o750,
    "mom_logs": 0o755,
    "spool": 0o1777,
    "undelivered": 0o1777,
}


def installed(path: str | None = None) -> Path:
    """Return the folder where OpenPBS is installed, by what is on PATH."""
    found = shutil.which("pbs_mom", path=path)
    assert found, "its programs were looked for before"
    return Path(found).resolve().parent.parent


def pbs_conf(host: str, folder: Path, prefix: Path) -> str:
    """Return the text of a host's, or the head's, pbs.conf."""
    is_head = int(host == HEAD)
    settings = {
        "PBS_EXEC": prefix,
        "PBS_HOME": HOMES / host,
        "PBS_SERVER": HEAD,
        "PBS_START_SERVER": is_head,
        "PBS_START_SCHED": is_head,
        "PBS_START_COMM": is_head,
        "PBS_START_MOM": 1 - is_head,
        "PBS_TMPDIR": folder / "tmp",
    }
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def mom_config(host: str, folder: Path) -> str:
    """Return the text of a host's mom_priv/config."""
    # All have the machine's file system, so that output is copied; the folders of jobs have the same names
    # everywhere.
    return (
        f"$clienthost {HEAD}\n$usecp *:/ /\n$tmpdir {folder / 'tmp' / host}\n$logevent 511\n"
        f"$max_poll_downtime {NODE_TIMEOUT}\n"
    )


def remote_shell(prefix: Path) -> str:
    """Return the text of a program that is called as rsh is, and starts its command by PBS on a host of the
    job.

    pbs_tmrsh starts its words as they are, where rsh hands them to a shell.
    """
    return f'#!/bin/sh\nhost=$1\nshift\nexec {prefix}/bin/pbs_tmrsh "$host" /bin/sh -c "$*"\n'


def server_settings(spec: Spec) -> list[str]:
    """Return the settings of the server, in the language of qmgr."""
    return [
        "create queue workq queue_type=execution,enabled=true,started=true",
        "set server default_queue=workq",
        # The jobs are those of who starts the cluster, on any of its hosts.
        f"set server acl_roots={spec.account.name}@*",
        "set server flatuid=true",
        # How jobs ended.
        "set server job_history_enable=true",
        f"set server node_fail_requeue={NODE_TIMEOUT}",
        # One job at a time, because all nodes are this one machine.
        'set server max_run="[o:PBS_ALL=1]"',
        *(
            f"create node {host} resources_available.ncpus={spec.cores}"
            for host in spec.hosts
        ),
        "set server scheduling=true",
    ]


class Pbs(Scheduler):
    """OpenPBS, which only root can run."""

    title = "OpenPBS"
    look = "pbsnodes -aSj"
    programs: ClassVar[dict[str, str | None]] = {
        **dict.fromkeys(
            (
                "pbs_server",
                "pbs_sched",
                "pbs_comm",
                "pbs_mom",
                "qmgr",
                "qsub",
                "qstat",
                "pbsnodes",
            ),
            None,
        ),
        "psql": "postgresql",
    }
    prefix_variable = "FABRIC_PBS_PREFIX"
    services = ("pbs_server", "pbs_sched")
    idle = "free"
    folders = ("pbs",)
    variables = ("PBS_",)

    def __init__(self, spec: Spec, folder: Path) -> None:
        super().__init__(spec, folder)
        self.server = self._of("pbs_server", [])
        self.comm = self._of("pbs_comm", ["pbs_comm", "-N"])
        self.sched = self._of("pbs_sched", ["pbs_sched", "-N"])

    @classmethod
    def refuse(cls, spec: Spec) -> None:
        if spec.account.rootless:
            raise ClusterError(
                "OpenPBS runs only as root; run this as root, or use --scheduler slurm or flux"
            )

    @property
    def daemons(self) -> list[Daemon]:
        return [self.comm, self.server, self.sched]

    def _of(self, name: str, command: list[str], host: str = HEAD) -> Daemon:
        return self._daemon(name, command, host, PBS_CONF_FILE=str(self._conf(host)))

    def _with_database(self, command: str) -> list[str]:
        # PBS's own lines, which name the folder of PostgreSQL.
        return [
            "bash",
            "-c",
            f'set -a; . "$PBS_CONF_FILE"; . "$PBS_EXEC/libexec/pbs_db_env"; {command}',
        ]

    def _conf(self, host: str) -> Path:
        return self.folder / "etc" / f"pbs.{host}.conf"

    @property
    def _remote_shell(self) -> Path:
        return self.folder / "etc" / "rsh"

    def _home(self, host: str) -> Path:
        return self.folder / "pbs" / host

    def write_files(self) -> None:
        self.folder.chmod(0o711)  # the database is another user's
        (self.folder / "pbs").chmod(0o711)
        prefix = installed()
        for host in (HEAD, *self.spec.hosts):
            self._conf(host).write_text(pbs_conf(host, self.folder, prefix))
            home = self._home(host)
            for name, mode in {
                "": 0o755,
                **(_OF_HEAD if host == HEAD else _OF_HOST),
            }.items():
                (home / name).mkdir()
                (home / name).chmod(mode)
            (home / "pbs_environment").write_text("PATH=/bin:/usr/bin\n")
            if host != HEAD:
                (self.folder / "tmp" / host).mkdir(mode=0o755)
                (home / "mom_priv" / "config").write_text(mom_config(host, self.folder))
        self._remote_shell.write_text(remote_shell(prefix))
        self._remote_shell.chmod(0o755)
        home = self._home(HEAD)
        for name, source in (
            ("dedicated_time", "pbs_dedicated"),
            ("holidays", "pbs_holidays"),
        ):
            shutil.copy(prefix / "etc" / source, home / "sched_priv" / name)
        shutil.copy(
            prefix / "etc" / "pbs_resource_group",
            home / "sched_priv" / "resource_group",
        )
        shutil.copy(
            prefix / "etc" / "pbs_sched_config", home / "sched_priv" / "sched_config"
        )
        (home / "server_priv" / "db_user").touch(mode=0o600)
        (home / "server_priv" / "db_user").write_text(OWNER)

    def begin(self) -> None:
        mounts.in_memory(RUN, "0755")
        for name, mode in (
            ("postgresql", 0o1777),
            ("lock", 0o1777),
            (HOMES.name, 0o711),
        ):
            (RUN / name).mkdir()
            (RUN / name).chmod(mode)
        mounts.replace(str(HOMES), self.folder / "pbs")

    def start(self) -> None:
        self.comm.start()
        self.comm.wait_until(lambda: listens(address(HEAD), COMM_PORT), PATIENCE)
        # Which needs the loopback interface, as the hosts are connected by now.
        made = self._of(
            "pbs_db_utility",
            self._with_database(
                f"export PBS_DATA_SERVICE_USER={OWNER} PBS_DATA_SERVICE_PORT=15007; "
                '"$PBS_EXEC/libexec/pbs_db_utility" install_db || [ $? = 2 ]'
            ),
        )
        made.start()
        made.finish(2 * PATIENCE)
        self._start_server("-t create")
        for setting in server_settings(self.spec):
            self._run("qmgr", "-c", setting)
        self.sched.start()

    def _start_server(self, options: str = "") -> None:
        self.server.command = self._with_database(
            f"exec $PBS_EXEC/sbin/pbs_server.bin -N {options}"
        )
        self.server.start()
        self.server.wait_until(lambda: listens(address(HEAD), SERVER_PORT), PATIENCE)

    def states(self) -> dict[str, str]:
        lines = self._run("pbsnodes", "-a", "-F", "dsv").splitlines()
        nodes = [
            dict(part.split("=", 1) for part in line.split("|") if "=" in part)
            for line in lines
        ]
        return {node["Name"]: node["state"] for node in nodes}

    def restart(self, service: str) -> None:
        if service == "pbs_sched":
            self.sched.start()
        else:
            self._start_server()

    def environment(self) -> dict[str, str]:
        # For config/systems/minicluster.py: MPIs have no ssh here.
        return {
            "PBS_CONF_FILE": str(self._conf(HEAD)),
            "FABRIC_CLUSTER_RSH": str(self._remote_shell),
        }

    def node_daemon(self, host: str) -> Daemon:
        return self._of("pbs_mom", ["pbs_mom", "-N"], host)

    def node_answers(self, host: str) -> bool:
        return listens(address(host), MOM_PORT)
