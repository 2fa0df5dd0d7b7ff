# SPDX-License-Identifier: BSD-3-Clause
"""The head: process 1 of the cluster's namespaces, which starts everything and then does what it is asked."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from pathlib import Path

from . import control, kernel, mounts, network, slurm
from .daemons import Daemon, Reaper, listens, listens_at, run_client
from .errors import ClusterError
from .hosts import Host
from .processes import PATIENCE
from .spec import HEAD, Spec, address, parse_link

NAMESPACES = ("net", "mnt", "uts", "ipc")
# What kill and start take beside the nodes.
SERVICES = ("slurmctld", "slurmdbd")

FOLDERS = ("etc", "munge", "run", "log", "state", "spool", "tmp", "db", "cgroup")

# A small and forgetful database: it holds some hundred rows, and lives as long as the cluster.
DATABASE = (
    "--innodb-data-file-path=ibdata1:4M:autoextend",
    "--innodb-log-file-size=4M",
    "--innodb-buffer-pool-size=24M",
    "--innodb-doublewrite=0",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-flush-method=nosync",
)


class Supervisor:
    """The head with its daemons and hosts."""

    def __init__(self, spec: Spec, folder: Path) -> None:
        self.spec, self.folder = spec, folder
        self.hosts = {name: Host(spec, folder, name) for name in spec.hosts}
        self.munged = self._daemon("munged", *self._munged())
        self.mariadbd = self._daemon("mariadbd", *self._mariadbd())
        self.slurmdbd = self._daemon("slurmdbd", "slurmdbd", "-D", MYSQL_UNIX_PORT=str(self._database_socket))
        self.slurmctld = self._daemon("slurmctld", "slurmctld", "-D")

    @property
    def daemons(self) -> list[Daemon]:
        database = [self.mariadbd, self.slurmdbd] if self.spec.accounting else []
        return [self.munged, *database, self.slurmctld]

    def _daemon(self, name: str, *command: str, **environment: str) -> Daemon:
        environment |= {"SLURM_CONF": str(self._slurm_conf)}
        return Daemon(name, list(command), self.folder / "log" / f"{name}.out", self.spec.account, **environment)

    @property
    def _slurm_conf(self) -> Path:
        return self.folder / "etc" / "slurm.conf"

    @property
    def _munge_socket(self) -> Path:
        return self.folder / "munge" / "socket"

    @property
    def _database_socket(self) -> Path:
        return self.folder / "run" / "mariadb.socket"

    def _munged(self) -> list[str]:
        place = self.folder / "munge"
        # --force: in a user namespace the machine's folders belong to nobody, which munged takes for a danger.
        files = [f"--{what}-file={place / what}" for what in ("key", "pid", "log", "seed")]
        return ["munged", "--foreground", "--force", f"--socket={self._munge_socket}", *files]

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
            *DATABASE,
        ]

    def _install_database(self) -> Daemon:
        return self._daemon(
            "mariadb-install-db",
            "mariadb-install-db",
            "--no-defaults",
            f"--user={self.spec.account.name}",
            f"--datadir={self.folder / 'db'}",
            # In /tmp the temporary tables of clusters that start at the same time would have the same names.
            f"--tmpdir={self.folder / 'tmp'}",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            *DATABASE,
        )

    def up(self) -> None:
        """Start everything. What does not depend on each other starts side by side."""
        self._make_namespaces()
        self._write_files()
        installed = None
        self.munged.start()
        if self.spec.accounting:
            mounts.in_memory(self.folder / "db", "0700")
            installed = self._install_database()
            installed.start()
        network.run_batch("ip", network.bridge_commands())
        self._boot(list(self.hosts.values()))
        self.munged.wait_until(lambda: listens_at(self._munge_socket), PATIENCE)
        if installed is not None:
            installed.finish(PATIENCE)
            self.mariadbd.start()
            self.mariadbd.wait_until(lambda: listens_at(self._database_socket), PATIENCE)
            self._start_slurmdbd()
            # Before slurmctld is there, so that it finds its tables.
            self._run("sacctmgr", "--immediate", "add", "cluster", slurm.CLUSTER)
        self._start_slurmctld("-c")
        self._start_slurmds(list(self.hosts.values()))
        self._wait_for_nodes()

    def _make_namespaces(self) -> None:
        kernel.unshare(*NAMESPACES)
        mounts.begin(self.folder)
        mounts.own(self.folder)
        socket.sethostname(HEAD)
        network.without_ipv6()

    def _write_files(self) -> None:
        etc = self.folder / "etc"
        for host in self.spec.hosts:
            (self.folder / "spool" / host).mkdir()
            (self.folder / "tmp" / host).mkdir()
        (etc / "hosts").write_text(slurm.hosts_file(self.spec))
        self._slurm_conf.write_text(slurm.slurm_conf(self.spec, self.folder))
        if self.spec.switches:
            (etc / "topology.conf").write_text(slurm.topology_conf(self.spec))
        if self.spec.accounting:
            (etc / "slurmdbd.conf").touch(mode=0o600)
            (etc / "slurmdbd.conf").write_text(slurm.slurmdbd_conf(self.spec, self.folder))
        key = self.folder / "munge" / "key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(128))
        mounts.replace("/etc/hosts", etc / "hosts")

    def _boot(self, hosts: list[Host]) -> None:
        if self.spec.is_rough:
            network.require_netem()
        for host in hosts:
            host.boot()
        cables = [command for host in hosts for command in network.link_commands(host.name, host.wait())]
        network.run_batch("ip", cables)
        links = {host: self.spec.links_of(host.name) for host in hosts}
        towards = [network.limit_commands(network.bridge_side(h.name), of["receive"]) for h, of in links.items()]
        network.run_batch("tc", [command for commands in towards for command in commands])
        asked = [(host, host.ask(do="connect", link=of["send"])) for host, of in links.items()]
        for host, connection in asked:
            host.answer(connection)

    def _start_slurmds(self, hosts: list[Host]) -> None:
        asked = [(host, host.ask(do="start")) for host in hosts]
        for host, connection in asked:
            host.answer(connection)

    def _start_slurmdbd(self) -> None:
        self.slurmdbd.start()
        self.slurmdbd.wait_until(lambda: listens(address(HEAD), slurm.DATABASE_PORT), PATIENCE)

    def _start_slurmctld(self, *options: str) -> None:
        self.slurmctld.command = ["slurmctld", "-D", *options]
        self.slurmctld.start()
        self.slurmctld.wait_until(lambda: listens(address(HEAD), slurm.CONTROLLER_PORT), PATIENCE)

    def _wait_for_nodes(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while True:
            states = dict(line.split() for line in self._run("sinfo", "-h", "-N", "-o", "%N %T").splitlines())
            late = [host for host in self.spec.hosts if states.get(host) != "idle"]
            if not late:
                return
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"after {PATIENCE:g} s Slurm says that {late[0]} is {states.get(late[0], 'unknown')}, "
                    f"with {len(late)} of {self.spec.nodes} nodes not idle; is the machine busy?"
                )
            time.sleep(0.05)

    def _run(self, *command: str) -> str:
        return run_client(self.spec.account, list(command), PATIENCE, SLURM_CONF=str(self._slurm_conf))

    def handle(self, message: dict) -> dict:
        match message["do"]:
            case "shape":
                self._shape(message["shapes"])
            case "kill":
                self._kill(message["what"])
            case "start":
                self._start(message["what"])
            case "status":
                return self._status()
        return {}

    def _shape(self, shapes: dict[str, str]) -> None:
        if any(parse_link(link).is_rough for link in shapes.values()):
            network.require_netem()
        self.spec.shapes.update(shapes)
        for place, link in shapes.items():
            name, _, side = place.partition(".")
            host = self.hosts[name]
            if not host.pid:  # one that is down gets its link when it is booted
                continue
            if side == "receive":
                network.limit(network.bridge_side(name), link)
            else:
                host.request(do="limit", link=link)

    def _service(self, what: str) -> Daemon:
        daemon = next((d for d in self.daemons if d.name == what), None)
        if daemon is None:
            raise ClusterError(f"this cluster has no {what}: it was started with --without-accounting")
        return daemon

    def _kill(self, what: str) -> None:
        if what in self.hosts:
            self.hosts[what].kill()
            return
        daemon = self._service(what)
        if not daemon.runs:
            raise ClusterError(f"{what} is not running; `ci/cluster start {what}` starts it")
        daemon.kill()

    def _start(self, what: str) -> None:
        if what in self.hosts:
            host = self.hosts[what]
            if not host.pid:
                network.wait_until_gone(network.bridge_side(what), PATIENCE)
                self._boot([host])
            self._start_slurmds([host])
            return
        if self._service(what).runs:
            raise ClusterError(f"{what} is running already")
        if what == "slurmdbd":
            self._start_slurmdbd()
        else:
            self._start_slurmctld()

    def _status(self) -> dict:
        hosts = {}
        for name, host in self.hosts.items():
            slurmd = host.pid and host.request(do="status")["slurmd"]
            hosts[name] = {"up": bool(host.pid), "slurmd": bool(slurmd), "links": self.spec.links_of(name)}
        return {"daemons": {daemon.name: daemon.runs for daemon in self.daemons}, "hosts": hosts}


def prepare(folder: Path) -> None:
    """Make the folders of a cluster."""
    for name in FOLDERS:
        (folder / name).mkdir(mode=0o700)


def run(spec: Spec, folder: Path, report: socket.socket) -> int:
    """Be the head until killed; say on `report` when the cluster is up, or why not."""
    kernel.set_name(HEAD)
    supervisor = Supervisor(spec, folder)
    try:
        supervisor.up()
        server = control.listen(control.socket_of(folder, HEAD))
    except (ClusterError, OSError, subprocess.SubprocessError) as error:
        control.send(report, {"error": _one_line(error)})
        return 1
    control.send(report, {"ready": True})
    report.close()
    reaper = Reaper()
    while True:
        if reaper.wait(server):
            control.serve(server, supervisor.handle)
        reaper.collect(supervisor.daemons)


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return " ".join(str(error).split())
