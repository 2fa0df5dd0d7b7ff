# SPDX-License-Identifier: BSD-3-Clause
"""System calls for which Python 3.10 has no function: namespaces, mounts, and the death of a parent."""

from __future__ import annotations

import ctypes
import os
import signal
from pathlib import Path

# <linux/sched.h>, by the names under /proc/PID/ns.
NAMESPACES = {
    "user": 0x10000000,
    "mnt": 0x00020000,
    "uts": 0x04000000,
    "ipc": 0x08000000,
    "net": 0x40000000,
    "pid": 0x20000000,
}
# <linux/mount.h>
MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 4096, 16384, 1 << 18
# <linux/prctl.h>
PR_SET_PDEATHSIG, PR_SET_NAME = 1, 15

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


def unshare(*names: str) -> None:
    """Move this process into new namespaces; of a new PID namespace the next child is process 1."""
    flags = 0
    for name in names:
        flags |= NAMESPACES[name]
    _check(_libc.unshare(ctypes.c_int(flags)), f"unshare {' '.join(names)}")


def enter(pid: int) -> None:
    """Move this process into all namespaces of another; into its PID namespace goes the next child."""
    opened = {}
    try:
        for name in (
            NAMESPACES
        ):  # all are opened first: after the change of mounts, /proc is another
            path = Path(f"/proc/{pid}/ns/{name}")
            if path.stat().st_ino != Path(f"/proc/self/ns/{name}").stat().st_ino:
                opened[name] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        for name, descriptor in opened.items():
            _check(
                _libc.setns(ctypes.c_int(descriptor), ctypes.c_int(0)), f"setns {name}"
            )
    finally:
        for descriptor in opened.values():
            os.close(descriptor)


def mount(
    source: str, target: str | Path, kind: str = "", flags: int = 0, options: str = ""
) -> None:
    arguments = [source.encode(), os.fsencode(target), kind.encode() or None]
    _check(
        _libc.mount(*arguments, ctypes.c_ulong(flags), options.encode() or None),
        f"mount on {target}",
    )


def map_user(inside: int, outside: int, inside_group: int, outside_group: int) -> None:
    """Say in a new user namespace who this process is; the kernel allows no more than that to an ordinary
    user."""
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{inside} {outside} 1")
    Path("/proc/self/gid_map").write_text(f"{inside_group} {outside_group} 1")


def die_with_parent(number: int = signal.SIGKILL) -> None:
    _check(_libc.prctl(PR_SET_PDEATHSIG, ctypes.c_ulong(number), 0, 0, 0), "prctl")


def set_name(name: str) -> None:
    """Set the name that ps and top show for this process."""
    _check(
        _libc.prctl(PR_SET_NAME, ctypes.c_char_p(name.encode()[:15]), 0, 0, 0), "prctl"
    )
