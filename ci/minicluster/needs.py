# SPDX-License-Identifier: BSD-3-Clause
"""Requirements of a cluster on the machine, and the remedy where one is missing."""

from __future__ import annotations

import errno
import os
import pwd
import shutil
from collections.abc import Mapping
from pathlib import Path

from . import kernel
from .daemons import search_path
from .errors import ClusterError
from .processes import PATIENCE, fork, read_all, wait_for_end
from .schedulers import SCHEDULERS
from .spec import Account, Spec

# Program and Debian package; ci/requirements/debian.txt has the packages too.
NETWORK: dict[str, str | None] = {"ip": "iproute2", "tc": "iproute2"}
FOR_ACCOUNTING: dict[str, str | None] = {
    "sacctmgr": "slurm-wlm",
    "slurmdbd": "slurmdbd",
    "mariadbd": "mariadb-server",
    "mariadb-install-db": "mariadb-server",
}
PAGE = "docs/schedulers.md"


def packages_of(scheduler: str, accounting: bool) -> dict[str, str | None]:
    """Return the programs that a cluster needs, with the Debian package of each."""
    return (
        SCHEDULERS[scheduler].programs
        | NETWORK
        | (FOR_ACCOUNTING if accounting else {})
    )


def prefix(scheduler: str, environment: Mapping[str, str]) -> str:
    """Return the folder where a scheduler is installed, as the environment names it; empty if it names
    none."""
    variable = SCHEDULERS[scheduler].prefix_variable
    folder = environment.get(variable, "") if variable else ""
    if folder and not Path(folder, "bin").is_dir():
        raise ClusterError(
            f"{variable} is {folder!r}, which has no folder bin; name the folder of an installation"
        )
    return folder and str(Path(folder).resolve())


def missing_programs(
    accounting: bool, path: str, scheduler: str = "slurm"
) -> list[str]:
    """Return the programs that are not on that path."""
    return [
        each
        for each in packages_of(scheduler, accounting)
        if shutil.which(each, path=path) is None
    ]


def missing_message(programs: list[str], scheduler: str = "slurm") -> str:
    """Say in a line what is missing, and how it is had."""
    packages = packages_of(scheduler, True)
    found = dict.fromkeys(filter(None, (packages[program] for program in programs)))
    parts = [f"install them (Debian: apt install {' '.join(found)})"] if found else []
    if any(packages[program] is None for program in programs):
        of = SCHEDULERS[scheduler]
        parts.append(
            f"Debian has no {of.title}: build it ({PAGE}), and set {of.prefix_variable} to its folder"
        )
    if set(programs) <= set(FOR_ACCOUNTING):
        parts.append("or do without them with --without-accounting")
    return f"missing programs: {', '.join(programs)}; {'; '.join(parts)}"


def check_programs(spec: Spec) -> None:
    """Refuse to start without a program, and let all that follows find them."""
    os.environ["PATH"] = search_path(os.environ.get("PATH", ""), spec.prefix)
    missing = missing_programs(spec.accounting, os.environ["PATH"], spec.scheduler)
    if missing:
        raise ClusterError(missing_message(missing, spec.scheduler))
    SCHEDULERS[spec.scheduler].refuse(spec)


def account() -> Account:
    uid = os.geteuid()
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:
        raise ClusterError(
            f"user {uid} has no name in the password file, and Slurm needs one; add it"
        ) from None
    setgroups = Path("/proc/self/setgroups")
    if uid == 0 and setgroups.exists() and setgroups.read_text().strip() == "deny":
        raise ClusterError(
            "this root belongs to a user namespace and may not call setgroups, which Slurm needs; run as an"
            " ordinary user, or as root outside of the namespace"
        )
    return Account(name, uid, os.getegid(), rootless=uid != 0)


# Settings that forbid an ordinary user to make namespaces, and the value that does.
SETTINGS = {
    "kernel/unprivileged_userns_clone": "0",
    "user/max_user_namespaces": "0",
    "kernel/apparmor_restrict_unprivileged_userns": "1",
}


def read_settings() -> dict[str, str]:
    paths = {name: Path("/proc/sys") / name for name in SETTINGS}
    return {
        name: path.read_text().strip() for name, path in paths.items() if path.exists()
    }


def refusal(rootless: bool, number: int, what: str, settings: Mapping[str, str]) -> str:
    """Say why namespaces cannot be made, and what helps."""
    failed = f"{what}: {os.strerror(number)}"
    if number == errno.ENOSPC and settings.get("user/max_user_namespaces") != "0":
        return (
            f"too many namespaces are in use ({failed}); end what uses them, or raise the limits in"
            " /proc/sys/user"
        )
    if not rootless:
        return (
            f"root may not make namespaces here ({failed}): this is a container without that right; start it"
            " with --privileged, or use ci/cluster on the machine itself"
        )
    for name, bad in SETTINGS.items():
        if settings.get(name) == bad:
            dotted = name.replace("/", ".")
            good = (
                "a number such as 10000"
                if name.endswith("namespaces")
                else str(1 - int(bad))
            )
            return f"user namespaces are switched off: {dotted}={bad}; run as root, or set it to {good}"
    return (
        f"an ordinary user may not make namespaces here ({failed}), probably because this is a container; run"
        " as root on a machine, or in a container started with --privileged"
    )


def check_namespaces(account: Account) -> None:
    """Refuse to start where namespaces and mounts in them are not allowed, by trying."""
    ready, report = os.pipe()
    child = fork(lambda: _try_namespaces(account, report))
    os.close(report)
    text = read_all(ready, PATIENCE, "the trial whether namespaces are allowed")
    wait_for_end(child, PATIENCE, "the trial whether namespaces are allowed")
    if text:
        number, _, what = text.partition(" ")
        raise ClusterError(
            refusal(account.rootless, int(number), what, read_settings())
        )


def _try_namespaces(account: Account, report: int) -> int:
    try:
        if account.rootless:
            kernel.unshare("user")
            kernel.map_user(0, account.uid, 0, account.gid)
        kernel.unshare("pid", "net", "mnt", "uts", "ipc")
    except OSError as error:
        os.write(report, f"{error.errno} {error.filename}".encode())
        return 1
    return wait_for_end(
        fork(lambda: _try_mount(report)), PATIENCE, "the trial of mounts"
    )


def _try_mount(report: int) -> int:
    try:
        kernel.mount("none", "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)
        kernel.mount("proc", "/proc", "proc")
        kernel.mount("sysfs", "/sys", "sysfs")
    except OSError as error:
        os.write(report, f"{error.errno} {error.filename}".encode())
        return 1
    return 0
