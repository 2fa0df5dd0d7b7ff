# SPDX-License-Identifier: BSD-3-Clause
"""Run a command on a host of a cluster."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

from . import control, kernel, schedulers
from .daemons import become, search_path
from .errors import ClusterError
from .processes import block_signals, fork, reset_signals, wait_for
from .spec import HEAD, Spec


def environment(spec: Spec, folder: Path, base: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which the commands of the scheduler, and ci/cluster, mean this cluster."""
    scheduler = schedulers.of(spec, folder)
    # Variables that an outer scheduler set for its own job would be taken for options.
    kept = {
        name: value
        for name, value in base.items()
        if not name.startswith(scheduler.variables)
    }
    return kept | {
        "PATH": search_path(base.get("PATH", ""), spec.prefix),
        **scheduler.environment(),
        "FABRIC_CLUSTER": spec.name,
        # For config/systems/minicluster.py.
        "FABRIC_CLUSTER_SCHEDULER": spec.scheduler,
        "FABRIC_CLUSTER_NODES": str(spec.nodes),
        "FABRIC_CLUSTER_CORES": str(spec.cores),
        "FABRIC_CLUSTER_RATE": spec.rate,
        "FABRIC_CLUSTER_RAILS": str(spec.rails),
    }


def run(spec: Spec, folder: Path, host: str, command: list[str]) -> int:
    """Run a command on a host, with this process's standard input and output, and return its exit status."""
    if host != HEAD and host not in spec.hosts:
        raise ClusterError(
            f"no host is called {host!r}; there are {HEAD} and {spec.hosts[0]} to {spec.hosts[-1]}"
        )
    pid = control.listener(control.socket_of(folder, host))
    if pid is None:
        raise ClusterError(
            f"{host} is not running; `ci/cluster start {host}` boots a node"
        )
    if pid == 0:
        raise ClusterError(
            f"{host} cannot be entered from a node of a cluster; use srun here, or ci/cluster outside of the"
            " cluster"
        )
    block_signals()
    return wait_for(fork(lambda: _enter(spec, folder, pid, command)))


def _enter(spec: Spec, folder: Path, pid: int, command: list[str]) -> int:
    """Be in the host's namespaces; in its PID namespace is only what is forked then."""
    kernel.die_with_parent()
    cwd = Path.cwd()
    try:
        kernel.enter(pid)
        os.chdir(cwd)
    except OSError as error:
        hint = "; within a rootless cluster use srun" if spec.account.rootless else ""
        print(
            f"error: the host cannot be entered: {error.filename}: {error.strerror}{hint}",
            file=sys.stderr,
        )
        return 126
    return wait_for(fork(lambda: _execute(spec, folder, command)))


def _execute(spec: Spec, folder: Path, command: list[str]) -> int:
    become(spec.account)
    kernel.die_with_parent(signal.SIGKILL)
    reset_signals()
    env = environment(spec, folder, os.environ)
    try:
        os.execvpe(command[0], command, env)
    except OSError as error:
        print(f"error: cannot run {command[0]}: {error.strerror}", file=sys.stderr)
        return 127 if isinstance(error, FileNotFoundError) else 126
