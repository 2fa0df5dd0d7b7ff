# SPDX-License-Identifier: BSD-3-Clause
"""The head: process 1 of the cluster's namespaces, which starts everything and then does what it is asked."""

from __future__ import annotations

import socket
import subprocess
import time
from pathlib import Path

from . import control, kernel, mounts, network, schedulers
from .daemons import Daemon, Reaper
from .errors import ClusterError
from .hosts import Host
from .processes import PATIENCE
from .spec import HEAD, Spec, parse_link

NAMESPACES = ("net", "mnt", "uts", "ipc")
FOLDERS = ("etc", "run", "log", "tmp", "cgroup")


class Supervisor:
    """The head with its daemons and hosts."""

    def __init__(self, spec: Spec, folder: Path) -> None:
        self.spec, self.folder = spec, folder
        self.hosts = {name: Host(spec, folder, name) for name in spec.hosts}
        self.scheduler = schedulers.of(spec, folder)

    def up(self) -> None:
        """Start everything; independent parts start at the same time."""
        self._make_namespaces()
        self._write_files()
        self.scheduler.begin()
        network.run_batch("ip", network.bridge_commands(self.spec.rails))
        self._boot(list(self.hosts.values()))
        self.scheduler.start()
        self._start_daemons(list(self.hosts.values()))
        self._wait_for_nodes()

    def _make_namespaces(self) -> None:
        kernel.unshare(*NAMESPACES)
        mounts.begin(self.folder)
        mounts.own(self.folder)
        socket.sethostname(HEAD)
        network.without_ipv6()

    def _write_files(self) -> None:
        hosts = self.folder / "etc" / "hosts"
        hosts.write_text(network.hosts_file(self.spec))
        self.scheduler.write_files()
        mounts.replace("/etc/hosts", hosts)

    def _boot(self, hosts: list[Host]) -> None:
        if self.spec.is_rough:
            network.require_netem()
        for host in hosts:
            host.boot()
        rails = self.spec.rails
        cables = [
            command
            for host in hosts
            for command in network.link_commands(host.name, host.wait(), rails)
        ]
        network.run_batch("ip", cables)
        links = {host: self.spec.links_of(host.name) for host in hosts}
        towards = [
            network.limit_commands(side, of["receive"])
            for h, of in links.items()
            for side in self._sides(h.name)
        ]
        network.run_batch(
            "tc", [command for commands in towards for command in commands]
        )
        asked = [
            (host, host.ask(do="connect", link=of["send"]))
            for host, of in links.items()
        ]
        for host, connection in asked:
            host.answer(connection)

    def _sides(self, host: str) -> list[str]:
        """Return the ends of a host's links that are on bridges."""
        return [network.bridge_side(host, rail) for rail in range(self.spec.rails)]

    def _start_daemons(self, hosts: list[Host]) -> None:
        asked = [(host, host.ask(do="start")) for host in hosts]
        for host, connection in asked:
            host.answer(connection)

    def _wait_for_nodes(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while late := self.scheduler.late():
            if time.monotonic() > deadline:
                host, state = next(iter(late.items()))
                raise ClusterError(
                    f"after {PATIENCE:g} s {self.scheduler.title} says that {host} is {state}, "
                    f"with {len(late)} of {self.spec.nodes} nodes not idle; is the machine busy?"
                )
            time.sleep(0.05)

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
        for where, link in shapes.items():
            name, _, side = where.partition(".")
            host = self.hosts[name]
            if not host.pid:  # one that is down gets its link when it is booted
                continue
            if side == "receive":
                network.limit(self._sides(name), link)
            else:
                host.request(do="limit", link=link)

    def _service(self, what: str) -> Daemon:
        daemon = next((d for d in self.scheduler.daemons if d.name == what), None)
        if daemon is None:
            raise ClusterError(
                f"this cluster has no {what}: it was started with --without-accounting"
            )
        return daemon

    def _kill(self, what: str) -> None:
        if what in self.hosts:
            self.hosts[what].kill()
            return
        daemon = self._service(what)
        if not daemon.runs:
            raise ClusterError(
                f"{what} is not running; `ci/cluster start {what}` starts it"
            )
        daemon.kill()

    def _start(self, what: str) -> None:
        if what in self.hosts:
            host = self.hosts[what]
            if not host.pid:
                for side in self._sides(what):
                    network.wait_until_gone(side, PATIENCE)
                self._boot([host])
            self._start_daemons([host])
            return
        if self._service(what).runs:
            raise ClusterError(f"{what} is running already")
        self.scheduler.restart(what)

    def _status(self) -> dict:
        hosts = {}
        for name, host in self.hosts.items():
            answer = (
                host.request(do="status")
                if host.pid
                else {"daemon": "", "slurmd": False}
            )
            hosts[name] = {
                "up": bool(host.pid),
                "links": self.spec.links_of(name),
                **answer,
            }
        return {
            "daemons": {daemon.name: daemon.runs for daemon in self.scheduler.daemons},
            "hosts": hosts,
        }


def prepare(spec: Spec, folder: Path) -> None:
    """Make the folders of a cluster."""
    for name in (*FOLDERS, *schedulers.SCHEDULERS[spec.scheduler].folders):
        (folder / name).mkdir(mode=0o700)


def run(spec: Spec, folder: Path, report: socket.socket) -> int:
    """Be the head until killed; send on `report` that the cluster is up, or why not."""
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
        reaper.collect(supervisor.scheduler.daemons)


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return (
            f"{error.filename}: {error.strerror}" if error.filename else error.strerror
        )
    return " ".join(str(error).split())
