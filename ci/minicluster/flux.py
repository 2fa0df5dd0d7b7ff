# SPDX-License-Identifier: BSD-3-Clause
"""Flux: a broker on the head, which schedules, and one on each host, which runs the jobs; flux-core alone.

It is the instance of one user, as ``flux start`` makes one: the owner's jobs need neither flux-security nor
MUNGE.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import ClassVar

from .daemons import Daemon, listens_at
from .processes import PATIENCE
from .scheduler import Scheduler
from .spec import HEAD, NETWORK, Spec

PORT = 8050
# A host that has lost its power closes no connection: so long the kernel waits for its answer.
NODE_TIMEOUT = 10


def config(spec: Spec, folder: Path) -> str:
    """Return the text of the brokers' configuration, which is one for all."""
    first, last = spec.hosts[0], spec.hosts[-1].removeprefix("n")
    hosts = first if spec.nodes == 1 else f"n[1-{last}]"
    cores = "0" if spec.cores == 1 else f"0-{spec.cores - 1}"
    return "\n".join(
        [
            "[bootstrap]",
            f"curve_cert = {_text(folder / 'etc' / 'curve.cert')}",
            f"default_port = {PORT}",
            'default_bind = "tcp://eth0:%p"',
            'default_connect = "tcp://%h:%p"',
            # The leader, which has no eth0, and all others directly below it: one that dies takes no other
            # along.
            f'hosts = [{{host = "{HEAD}", bind = "tcp://br0:%p"}}, {{host = "{hosts}"}}]',
            "[tbon]",
            f'tcp_user_timeout = "{NODE_TIMEOUT}s"',
            # The brokers of a job: there is no default route to choose an interface by.
            f'interface-hint = "{NETWORK}"',
            "[resource]",
            # A node has as many cores as configured, whatever the machine has.
            "verify = false",
            "norestrict = true",
            f'config = [{{hosts = "{HEAD},{hosts}", cores = "{cores}"}}]',
            f'exclude = "{HEAD}"',
            "",
        ]
    )


def _text(value: object) -> str:
    return json.dumps(str(value))  # a basic string of TOML


class Flux(Scheduler):
    """Flux."""

    title = "Flux"
    look = "flux resource list"
    programs: ClassVar[dict[str, str | None]] = {"flux": None}
    prefix_variable = "FABRIC_FLUX_PREFIX"
    idle = "free"
    folders = ("flux", "shell")
    variables = ("FLUX_",)

    def __init__(self, spec: Spec, folder: Path) -> None:
        super().__init__(spec, folder)
        self.leader = self.node_daemon(HEAD)

    @property
    def daemons(self) -> list[Daemon]:
        return [self.leader]

    def node_daemon(self, host: str) -> Daemon:
        settings = {
            "rundir": self._place(host),
            "statedir": self._place(host),
            "local-uri": f"local://{self._socket(host)}",
            "log-stderr-mode": "local",
            "log-stderr-level": 6,
            "log-forward-level": -1,
            # The head works as long as one other host does, and ends at once.
            "broker.quorum": 1,
            "broker.quorum-warn": "none",
            "broker.rc2_none": "",
            "broker.module-nopanic": 1,
        }
        options = [
            f"-S{name}={value}" if value != "" else f"-S{name}"
            for name, value in settings.items()
        ]
        command = [
            "flux",
            "broker",
            f"--config-path={self.folder / 'etc' / 'flux.toml'}",
            *options,
        ]
        return self._daemon("flux-broker", command, host, **self._shells())

    def _place(self, host: str) -> Path:
        return self.folder / "flux" / host

    def _socket(self, host: str) -> Path:
        return self._place(host) / "local"

    def _shells(self) -> dict[str, str]:
        return {"FLUX_SHELL_RC_PATH": str(self.folder / "shell")}

    def write_files(self) -> None:
        for host in (HEAD, *self.spec.hosts):
            self._place(host).mkdir(mode=0o700)
        (self.folder / "etc" / "flux.toml").write_text(config(self.spec, self.folder))
        # Bound to the cores that it has by its number, every host's first task would be on the machine's
        # first core.
        (self.folder / "shell" / "minicluster.lua").write_text(
            'shell.options["cpu-affinity"] = "off"\n'
        )
        self._run("flux", "keygen", str(self.folder / "etc" / "curve.cert"))

    def start(self) -> None:
        self.leader.start()
        self.leader.wait_until(lambda: listens_at(self._socket(HEAD)), PATIENCE)
        # It answers before its modules are there.
        self.leader.wait_until(
            lambda: self._run("flux", "uptime").split()[1] == "run", PATIENCE
        )

    def states(self) -> dict[str, str]:
        free = self._run(
            "flux",
            "resource",
            "list",
            "--states=free",
            "--no-header",
            "--format={nodelist}",
        ).strip()
        there = (
            self._run("flux", "hostlist", "--expand", "--delimiter=\n", free).split()
            if free
            else []
        )
        return dict.fromkeys(self.spec.hosts, "down") | dict.fromkeys(there, self.idle)

    def environment(self) -> dict[str, str]:
        # A job is an instance of its own, with a folder below TMPDIR that would be left if it were killed.
        return {
            "FLUX_URI": f"local://{self._socket(HEAD)}",
            "TMPDIR": str(self.folder / "tmp"),
            **self._shells(),
        }

    def node_answers(self, host: str) -> bool:
        return listens_at(self._socket(host))
