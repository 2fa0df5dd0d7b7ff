# SPDX-License-Identifier: BSD-3-Clause
"""Wait for other sessions on this host before a job starts, so that the wait does not count as the job's time."""

from __future__ import annotations

import fcntl
import os

from reframe.core.builtins import run_before
from reframe.core.logging import getlogger
from reframe.core.pipeline import RegressionTestPlugin


class HostLockMixin(RegressionTestPlugin):
    """Wait until nobody holds the lock of the partition's host.

    A partition that is the host that ReFrame runs on names a file or folder under ``extras['host_lock']``, and its
    ``prepare_cmds`` take the lock on it: the job itself holds it. Another session's build may hold it for longer than
    a case may take.
    """

    @run_before("run", always_last=True)
    def wait_for_host(self):
        """Return as soon as the lock is free; the job takes it again."""
        path = self.current_partition.extras.get("host_lock")
        if not path or self.is_dry_run():
            return
        descriptor = os.open(path, os.O_RDONLY)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                getlogger().info(f"waiting for another session's job on this host: {self.display_name}")
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        finally:
            os.close(descriptor)
