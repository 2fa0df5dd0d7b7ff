# SPDX-License-Identifier: BSD-3-Clause
"""Slurm: munged, slurmctld, and for the accounting slurmdbd with a database; slurmd on the hosts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import ClassVar

from . import mounts
from .daemons import Daemon, listens, listens_at
from .errors import ClusterError
from .processes import PATIENCE
from .scheduler import Scheduler
from .slurm_files import (
    CLUSTER,
    CONTROLLER_PORT,
    CREATE_DATABASE,
    DATABASE_PORT,
    NODE_PORT,
    cgroup_conf,
    slurm_conf,
    slurmdbd_conf,
    topology_conf,
)
from .spec import HEAD, Spec, address

# A small and forgetful database: it holds some hundred rows, and lives as long as the cluster.
DATABASE = (
    "--innodb-data-file-path=ibdata1:4M:autoextend",
    "--innodb-log-file-size=4M",
    "--innodb-buffer-pool-size=24M",
    "--innodb-doublewrite=0",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-flush-method=nosync",
)


class Slurm(Scheduler):
    """Slurm, with accounting or without."""

    title = "Slurm"
    look = "sinfo"
    programs: ClassVar[dict[str, str | None]] = {
        "slurmctld": "slurm-wlm",
        "slurmd": "slurm-wlm",
        "srun": "slurm-wlm",
        "sinfo": "slurm-wlm",
        "munged": "munge",
    }
    services = ("slurmctld", "slurmdbd")
    idle = "idle"
    folders = ("munge", "state", "spool", "db")
    variables = ("SLURM_", "SBATCH_", "SRUN_")

    def __init__(self, spec: Spec, folder: Path) -> None:
        super().__init__(spec, folder)
        environment = self.environment()
        self.munged = self._daemon("munged", self._munged())
        self.mariadbd = self._daemon("mariadbd", self._mariadbd())
        database = {"MYSQL_UNIX_PORT": str(self._database_socket)}
        self.slurmdbd = self._daemon(
            "slurmdbd", ["slurmdbd", "-D"], **environment, **database
        )
        self.slurmctld = self._daemon("slurmctld", ["slurmctld", "-D"], **environment)
        self._installed: Daemon | None = None

    @property
    def daemons(self) -> list[Daemon]:
        database = [self.mariadbd, self.slurmdbd] if self.spec.accounting else []
        return [self.munged, *database, self.slurmctld]

    @property
    def _munge_socket(self) -> Path:
        return self.folder / "munge" / "socket"

    @property
    def _database_socket(self) -> Path:
        return self.folder / "run" / "mariadb.socket"

    @property
    def _create_database(self) -> Path:
        return self.folder / "etc" / "create-database.sql"

    def _munged(self) -> list[str]:
        folder = self.folder / "munge"
        # --force: in a user namespace the machine's folders belong to nobody, which munged takes for a
        # danger.
        files = [
            f"--{what}-file={folder / what}" for what in ("key", "pid", "log", "seed")
        ]
        return [
            "munged",
            "--foreground",
            "--force",
            f"--socket={self._munge_socket}",
            *files,
        ]

    def _mariadbd(self) -> list[str]:
        return [
            "mariadbd",
            "--no-defaults",
            f"--user={self.spec.account.name}",
            f"--datadir={self.folder / 'db'}",
            f"--socket={self._database_socket}",
            f"--pid-file={self.folder / 'run' / 'mariadb.pid'}",
            f"--tmpdir={self.folder / 'tmp'}",
            "--skip-networking",
            "--performance-schema=0",
            "--key-buffer-size=1M",
            "--aria-pagecache-buffer-size=1M",
            "--innodb-lock-wait-timeout=900",
            f"--init-file={self._create_database}",
            *DATABASE,
        ]

    def _install_database(self) -> Daemon:
        command = [
            "mariadb-install-db",
            "--no-defaults",
            f"--user={self.spec.account.name}",
            f"--datadir={self.folder / 'db'}",
            # In /tmp the temporary tables of clusters that start at the same time would have the same names.
            f"--tmpdir={self.folder / 'tmp'}",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            *DATABASE,
        ]
        return self._daemon("mariadb-install-db", command)

    def write_files(self) -> None:
        etc = self.folder / "etc"
        for host in self.spec.hosts:
            (self.folder / "spool" / host).mkdir()
            (self.folder / "tmp" / host).mkdir()
        (etc / "slurm.conf").write_text(slurm_conf(self.spec, self.folder))
        if settings := cgroup_conf(self._run("slurmd", "-V")):
            (etc / "cgroup.conf").write_text(settings)
        if self.spec.switches:
            (etc / "topology.conf").write_text(topology_conf(self.spec))
        if self.spec.accounting:
            self._create_database.write_text(CREATE_DATABASE)
            (etc / "slurmdbd.conf").touch(mode=0o600)
            (etc / "slurmdbd.conf").write_text(slurmdbd_conf(self.spec, self.folder))
        key = self.folder / "munge" / "key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(128))

    def begin(self) -> None:
        self.munged.start()
        if self.spec.accounting:
            mounts.in_memory(self.folder / "db", "0700")
            self._installed = self._install_database()
            self._installed.start()

    def start(self) -> None:
        self.munged.wait_until(lambda: listens_at(self._munge_socket), PATIENCE)
        if self._installed is not None:
            self._installed.finish(PATIENCE)
            self.mariadbd.start()
            self.mariadbd.wait_until(
                lambda: listens_at(self._database_socket), PATIENCE
            )
            self._start_slurmdbd()
            # Before slurmctld is there, so that it finds its tables.
            self._run("sacctmgr", "--immediate", "add", "cluster", CLUSTER)
        self._start_slurmctld("-c")

    def _start_slurmdbd(self) -> None:
        self.slurmdbd.start()
        self.slurmdbd.wait_until(
            lambda: listens(address(HEAD), DATABASE_PORT), PATIENCE
        )

    def _start_slurmctld(self, *options: str) -> None:
        self.slurmctld.command = ["slurmctld", "-D", *options]
        self.slurmctld.start()
        self.slurmctld.wait_until(self._controller_answers, PATIENCE)

    def _controller_answers(self) -> bool:
        """Tell whether slurmctld answers: it listens before it has read its state, which may end it."""
        if not listens(address(HEAD), CONTROLLER_PORT):
            return False
        try:
            self._run("scontrol", "ping")
        except ClusterError:
            return False
        return True

    def states(self) -> dict[str, str]:
        return dict(
            line.split()
            for line in self._run("sinfo", "-h", "-N", "-o", "%N %T").splitlines()
        )

    def restart(self, service: str) -> None:
        if service == "slurmdbd":
            self._start_slurmdbd()
        else:
            # That of 26.05 writes its file of usage minutes after its first start; killed before, it does not
            # start again without -i.
            self._start_slurmctld("-i")

    def environment(self) -> dict[str, str]:
        return {"SLURM_CONF": str(self.folder / "etc" / "slurm.conf")}

    def node_daemon(self, host: str) -> Daemon:
        return self._daemon(
            "slurmd", ["slurmd", "-D", "-N", host], host, **self.environment()
        )

    def node_answers(self, host: str) -> bool:
        return listens(address(host), NODE_PORT)
