# SPDX-License-Identifier: BSD-3-Clause
"""One night of a system at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from fabric_checks.core.errors import FabricError
from fabric_checks.core.locks import LockedError, exclusive


class BusyError(FabricError):
    """Another night of the system is running."""


@contextmanager
def only_one(path: Path) -> Iterator[int]:
    """Hold the lock of a system while its night runs, and yield its descriptor.

    The lock is the kernel's: it ends with the last process that has the descriptor, however that ends. The run of a
    night inherits it, so that a run whose night was killed is not joined by another.

    :raises BusyError: if somebody else has it.
    :raises FabricError: if the file cannot be written.
    """
    with ExitStack() as held:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = held.enter_context(exclusive(path, 0))
        except LockedError as error:
            raise BusyError(
                f"{error}: another night of this system is running, or the run of a night that was killed; nothing was "
                "run"
            ) from None
        except OSError as error:
            raise FabricError(f"{path}: {error.strerror}: a night cannot run without its lock; fix that") from None
        yield descriptor
