# SPDX-License-Identifier: BSD-3-Clause
"""Wait for other sessions on this host before a job starts, so that the wait does not count as the job's time."""

from __future__ import annotations

from pathlib import Path

from reframe.core.builtins import run_before
from reframe.core.logging import getlogger
from reframe.core.pipeline import RegressionTestPlugin

from fabric_checks.core import locks


class HostLockMixin(RegressionTestPlugin):
    """Wait until nobody holds the lock of the partition's host.

    A partition that is the host that ReFrame runs on names a file under ``extras['host_lock']``, in a folder that is
    its user's alone, and its ``prepare_cmds`` take the lock on it: the job itself holds it. Another session's build may
    hold it for longer than a case may take.
    """

    @run_before("run", always_last=True)
    def wait_for_host(self):
        """Return as soon as the lock is free; the job takes it again.

        :raises FabricError: with who has it, if it is not free in time.
        """
        path = self.current_partition.extras.get("host_lock")
        if not path or self.is_dry_run():
            return
        locks.own_folder(Path(path).parent)

        def tell(who):
            getlogger().info(f"{self.display_name} waits for another session's job on this host: {who}")

        with locks.exclusive(Path(path), locks.HOST_WAIT_S, tell):
            pass
