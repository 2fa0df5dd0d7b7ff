# SPDX-License-Identifier: BSD-3-Clause
"""The command line."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from pathlib import Path
from typing import NoReturn

from . import control, inside, needs, state
from .errors import ClusterError
from .keeper import TO_BE_DOWN, Cluster
from .processes import ENDING, GRACE, readable
from .schedulers import SCHEDULERS
from .spec import (
    HEAD,
    MOST_NODES,
    MOST_RAILS,
    NO_LIMIT,
    SIDES,
    Spec,
    node_names,
    parse_rate,
    parse_shapes,
)

DEFAULT_NAME = "minicluster"

HELP = """\
Start a real cluster of N hosts on this machine, as root or as an ordinary user, with Slurm, or with Flux or
OpenPBS where that is installed. Each host is a network namespace with its own name (n1, n2, ...), address,
processes and shared memory; the scheduler's own daemons and a bridge are on `head`. The hosts share the
machine's file system and cores, and reach only each other.
"""

EPILOG = """\
examples:
  ci/cluster up --nodes 4 --rate 1gbit      four hosts with links of 1 Gbit/s
  ci/cluster exec head -- sinfo             a command where slurmctld runs; n3 instead of head: on that host
  ci/cluster exec n3 -- pkill -KILL slurmd  only the daemon of a node dies
  ci/cluster kill n3                        the whole host loses power; `start n3` boots it
  ci/cluster shape n2=100mbit n3=none       change the rates of two links, in both directions
  ci/cluster shape n2.send=300mbit          only what n2 sends; n2.receive: only what it receives
  ci/cluster shape n2=1gbit,delay=100us,loss=0.1%
                                            delay and drop packets, each way, if the kernel has sch_netem
  ci/cluster down                           end it; nothing is left
  ci/cluster run --nodes 2 -- srun -N2 hostname

environment:
  FABRIC_CLUSTER   the cluster to use if no --name is given; set for what exec and run start
  FABRIC_FLUX_PREFIX, FABRIC_PBS_PREFIX
                   where Flux and OpenPBS are installed, if their programs are not on PATH
  TMPDIR           where the folder of a cluster is made (default: /tmp)

The exit status of exec and run is that of their command; else 0, 1 if it failed, or 2 for wrong usage.
"""


class Stopped(Exception):
    """A signal that ends the command."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def _services() -> list[str]:
    return [service for each in SCHEDULERS.values() for service in each.services]


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        print(f"error: {message}; see {self.prog} --help", file=sys.stderr)
        sys.exit(2)


def parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    top = Parser(
        prog="ci/cluster", description=HELP, epilog=EPILOG, formatter_class=raw
    )
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def add(name: str, what: str, named: bool = True) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=what, description=what)
        if named:
            command.add_argument(
                "--name",
                help="which cluster (default: FABRIC_CLUSTER, or the only one)",
            )
        return command

    for name, what in (
        ("up", "start a cluster"),
        ("run", "start a cluster, run a command on its head, end it"),
    ):
        command = add(name, what, named=False)
        default = DEFAULT_NAME if name == "up" else f"run-{os.getpid()}"
        command.add_argument(
            "--name",
            default=default,
            help="its name, if several are up (default: %(default)s)",
        )
        command.add_argument(
            "--nodes", type=int, required=True, metavar="N", help="how many hosts"
        )
        command.add_argument(
            "--cores",
            type=int,
            default=2,
            metavar="C",
            help="cores of a host (default: 2)",
        )
        command.add_argument(
            "--rate",
            default="none",
            help="rate of every host's link, such as 1gbit (default: none)",
        )
        command.add_argument(
            "--rails",
            type=int,
            default=1,
            metavar="R",
            help="links of every host: eth0, eth1, ... (default: 1)",
        )
        command.add_argument(
            "--shape",
            action="append",
            default=[],
            metavar="NODE=LINK",
            help="one host's link, as for `shape`",
        )
        command.add_argument(
            "--switches",
            type=int,
            default=0,
            metavar="S",
            help="tell Slurm about this many leaf switches (default: none)",
        )
        command.add_argument(
            "--scheduler",
            choices=SCHEDULERS,
            default="slurm",
            help="what runs the jobs (default: slurm)",
        )
        command.add_argument(
            "--without-accounting",
            action="store_true",
            help="Slurm: no slurmdbd and no database",
        )
    add("status", "show the clusters that are up")
    command = add("exec", "run a command on a host, given after --")
    command.add_argument("node", metavar="NODE", help="n1, n2, ... or head")
    command = add(
        "shape",
        "limit the rate of links, or delay and drop their packets, in one direction or both",
    )
    command.add_argument(
        "shapes",
        nargs="+",
        metavar="NODE=LINK",
        help=(
            "NODE, NODE.send or NODE.receive, and RATE or none, optionally with ,delay=TIME and ,loss=PERCENT"
        ),
    )
    for name, what in (
        ("kill", "kill a host, or a daemon, at once and without warning"),
        ("start", "restart what was killed"),
    ):
        command = add(name, what)
        command.add_argument(
            "what",
            metavar="WHAT",
            help=f"n1, n2, ..., or a daemon of the head: {', '.join(_services())}",
        )
    add("down", "end a cluster and remove all of it")
    return top


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    own, dashes, command = _split(arguments)
    options = parser().parse_args(own)
    try:
        if options.command in ("exec", "run"):
            if not command:
                raise ClusterError(
                    f"no command; write it after --, as in: ci/cluster {' '.join(own)} -- sinfo"
                )
            options.argv = command
        elif dashes:
            raise ClusterError(f"{options.command} takes no command after --")
        _end_by_exception()
        return COMMANDS[options.command](options) or 0
    except ClusterError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        path = f"{error.filename}: " if error.filename else ""
        print(f"error: {path}{error.strerror or error}", file=sys.stderr)
        return 1
    except Stopped as stopped:
        print(f"error: ended by {signal.Signals(stopped.number).name}", file=sys.stderr)
        return 128 + stopped.number


def _split(arguments: list[str]) -> tuple[list[str], bool, list[str]]:
    if "--" not in arguments:
        return arguments, False, []
    at = arguments.index("--")
    return arguments[:at], True, arguments[at + 1 :]


def _ignore_signals() -> None:
    """Let no signal, and no second one, interrupt the cleaning up."""
    for ending in ENDING:
        signal.signal(ending, signal.SIG_IGN)


def _end_by_exception() -> None:
    def stop(number: int, _: object) -> None:
        _ignore_signals()
        raise Stopped(number)

    for number in ENDING:
        if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
            signal.signal(number, stop)


def _name(options: argparse.Namespace) -> str | None:
    return options.name or os.environ.get("FABRIC_CLUSTER") or None


def _spec(options: argparse.Namespace) -> Spec:
    if not 1 <= options.nodes <= MOST_NODES:
        raise ClusterError(
            f"{options.nodes} nodes are impossible; give 1 to {MOST_NODES}"
        )
    if not 1 <= options.cores <= 1024:
        raise ClusterError(
            f"{options.cores} cores a host are impossible; give 1 to 1024"
        )
    if not 1 <= options.rails <= MOST_RAILS:
        raise ClusterError(
            f"{options.rails} rails are impossible; give 1 to {MOST_RAILS}"
        )
    if options.switches < 0 or options.nodes < 2 * options.switches:
        raise ClusterError(
            f"{options.switches} switches are impossible; give 0, or few enough for each to have two nodes"
        )
    if options.switches and options.scheduler != "slurm":
        raise ClusterError(
            "--switches goes with --scheduler slurm; the others know no switches"
        )
    if options.without_accounting and options.scheduler != "slurm":
        raise ClusterError(
            "--without-accounting goes with --scheduler slurm; the others have none"
        )
    return Spec(
        name=state.check_name(options.name),
        nodes=options.nodes,
        cores=options.cores,
        accounting=options.scheduler == "slurm" and not options.without_accounting,
        account=needs.account(),
        rate=parse_rate(options.rate),
        shapes=parse_shapes(options.shape, node_names(options.nodes)),
        switches=options.switches,
        scheduler=options.scheduler,
        prefix=needs.prefix(options.scheduler, os.environ),
        rails=options.rails,
    )


def _start(options: argparse.Namespace) -> tuple[Cluster, Spec]:
    """Start a cluster and wait until it is up; from then on the signals that end a command are blocked."""
    spec = _spec(options)
    needs.check_programs(spec)
    needs.check_namespaces(spec.account)
    # But for the wait, which ends with the cluster's own end, a signal has to wait until what is begun is
    # done.
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    cluster = Cluster(spec)
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
        cluster.wait()
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    except BaseException:
        _ignore_signals()
        cluster.end()
        raise
    return cluster, spec


def up(options: argparse.Namespace) -> None:
    begin = time.monotonic()
    cluster, spec = _start(options)
    cluster.let_go()
    cores = f"{spec.cores} core{'s' * (spec.cores > 1)}"
    of = f"with {SCHEDULERS[spec.scheduler].title}"
    if spec.scheduler == "slurm":
        of = "with accounting" if spec.accounting else "without accounting"
    name = "" if spec.name == DEFAULT_NAME else f" --name {spec.name}"
    lines = [
        f"{spec.name}: {_nodes(spec)} of {cores}, {of}, up in {time.monotonic() - begin:.1f} s",
        f"use it:  ci/cluster exec{name} head -- {SCHEDULERS[spec.scheduler].look}",
        f"end it:  ci/cluster down{name}",
        f"logs:    {cluster.folder}/log",
    ]
    _say(lines)


def _say(lines: list[str]) -> None:
    try:
        print("\n".join(lines), flush=True)
    except (
        BrokenPipeError
    ):  # as under `| head -1`; what is left of the text goes nowhere
        with Path(os.devnull).open("w") as null:
            os.dup2(null.fileno(), sys.stdout.fileno())


def _nodes(spec: Spec) -> str:
    return "1 node" if spec.nodes == 1 else f"{spec.nodes} nodes"


def run(options: argparse.Namespace) -> int:
    cluster, spec = _start(options)
    try:
        return inside.run(spec, cluster.folder, HEAD, options.argv)
    finally:
        cluster.end()


def status(options: argparse.Namespace) -> None:
    name = _name(options)
    found = state.entries() if name is None else [state.find(name)]
    lines = [line for entry in found for line in _shown(entry)]
    _say(lines or ["no cluster is up"])


def _shown(entry: state.Entry) -> list[str]:
    spec = entry.spec
    how = "rootless" if spec.account.rootless else "as root"
    age = f"{time.time() - entry.started:.0f} s ago" if entry.started else "just now"
    title = f"{spec.name}: {_nodes(spec)}, {how}, started {age}, in {entry.folder}"
    head = control.socket_of(entry.folder, HEAD)
    if control.listener(head) is None:
        return [title, "  on its way up, or down"]
    answer = control.request(head, HEAD, do="status")
    daemons = [
        f"{name} {'runs' if runs else 'IS DEAD'}"
        for name, runs in answer["daemons"].items()
    ]
    return [
        title,
        f"  {HEAD}: {', '.join(daemons)}",
        *(_host(name, is_) for name, is_ in answer["hosts"].items()),
    ]


def _host(name: str, is_: dict) -> str:
    state_of = (
        f"{is_.get('daemon', 'slurmd')} {'runs' if is_['slurmd'] else 'IS DEAD'}"
        if is_["up"]
        else "IS DOWN"
    )
    sends, receives = (is_["links"][side] for side in SIDES)
    link = (
        f", link of {sends}"
        if sends == receives
        else f", sends at {sends}, receives at {receives}"
    )
    return f"  {name}: {state_of}{'' if sends == receives == NO_LIMIT else link}"


def execute(options: argparse.Namespace) -> int:
    entry = state.find(_name(options))
    return inside.run(entry.spec, entry.folder, options.node, options.argv)


def _request(options: argparse.Namespace, **message: object) -> None:
    entry = state.find(_name(options))
    control.request(control.socket_of(entry.folder, HEAD), HEAD, **message)


def shape(options: argparse.Namespace) -> None:
    hosts = state.find(_name(options)).spec.hosts
    _request(options, do="shape", shapes=parse_shapes(options.shapes, hosts))


def kill_or_start(options: argparse.Namespace) -> None:
    entry = state.find(_name(options))
    services = SCHEDULERS[entry.spec.scheduler].services
    if options.what not in (*entry.spec.hosts, *services):
        names = ", ".join(
            [f"{entry.spec.hosts[0]} to {entry.spec.hosts[-1]}", *services]
        ).replace(", ", " and ", 1)
        raise ClusterError(f"nothing is called {options.what!r}; there are {names}")
    _request(options, do=options.command, what=options.what)


def down(options: argparse.Namespace) -> None:
    entry = state.find(_name(options))
    if entry.pid_namespace != state.pid_namespace():
        raise ClusterError(
            "a cluster cannot be ended from within; call ci/cluster down outside of it"
        )
    try:
        keeper = os.pidfd_open(entry.keeper)
    except ProcessLookupError:
        return  # it went down by itself just now
    try:
        signal.pidfd_send_signal(keeper, signal.SIGTERM)
        if not readable(keeper, TO_BE_DOWN):
            signal.pidfd_send_signal(keeper, signal.SIGKILL)
            if not readable(keeper, GRACE):
                raise ClusterError(
                    f"the cluster's keeper, process {entry.keeper}, cannot be killed; what is it waiting for?"
                )
    finally:
        os.close(keeper)
    state.entries()  # removes what a killed keeper could not


COMMANDS = {
    "up": up,
    "run": run,
    "status": status,
    "exec": execute,
    "shape": shape,
    "kill": kill_or_start,
    "start": kill_or_start,
    "down": down,
}
