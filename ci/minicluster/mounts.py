# SPDX-License-Identifier: BSD-3-Clause
"""Mounts of a host's own; the rest of the file system is the machine's."""

from __future__ import annotations

from pathlib import Path

from .kernel import MS_BIND, MS_NODEV, MS_NOSUID, MS_PRIVATE, MS_REC, mount

CGROUPS = Path("/sys/fs/cgroup")


def begin(folder: Path) -> None:
    """Prepare a new mount namespace: nothing that is mounted there may reach the machine."""
    mount("none", "/", flags=MS_REC | MS_PRIVATE)
    if (
        CGROUPS.exists()
    ):  # put aside, because a new /sys hides them, and slurmd wants to see them
        mount(str(CGROUPS), folder / "cgroup", flags=MS_BIND | MS_REC)


def own(folder: Path) -> None:
    """Mount the file systems of this host's own processes, interfaces and shared memory over the machine's.

    UCX takes the interfaces from /sys: with the machine's, MPICH sends addresses that nobody can reach.
    """
    mount("proc", "/proc", "proc")
    mount("sysfs", "/sys", "sysfs")
    if CGROUPS.exists():
        mount(str(folder / "cgroup"), CGROUPS, flags=MS_BIND | MS_REC)
    in_memory(Path("/dev/shm"), "1777")


def in_memory(folder: Path, mode: str) -> None:
    mount("tmpfs", folder, "tmpfs", MS_NOSUID | MS_NODEV, f"mode={mode}")


def replace(path: str, by: Path) -> None:
    mount(str(by), path, flags=MS_BIND)
