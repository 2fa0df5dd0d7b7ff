# SPDX-License-Identifier: BSD-3-Clause
"""Send records to a store while a session runs, without the session ever waiting for it."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

from fabric_checks.errors import FabricError
from fabric_checks.results.perflogs.connection import Refused, TryLater
from fabric_checks.results.perflogs.stores import Record, Store

#: How long the end of a session may wait for a store, in seconds.
END_S = 10.0

#: The pauses between tries in seconds; the last is kept.
PAUSES_S = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)

#: Records that go out in one request, if so many wait.
AT_ONCE = 2000

#: Cases that may wait. What comes then is not sent; the perflog has it.
WAITING = 20000


class Sender:
    """Sends what it is given in the background, and tries again while the store is down or busy.

    :param store: where to; :param later: the command that sends the session later.
    :param say: is called with a line when the store fails first, and at the end if something was not sent.
    """

    def __init__(self, store: Store, later: str, say: Callable[[str], None]) -> None:
        self.store = store
        self._later = later
        self._say = say
        self._cases: deque[list[Record]] = deque()
        self._lock = threading.Condition()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._added = self._sent = 0
        self._cause = ""
        self._failures = 0
        self._abandoned = False

    def add(self, records: Sequence[Record]) -> None:
        """Take the records of a case; returns at once."""
        with self._lock:
            self._added += len(records)
            if len(self._cases) >= WAITING:
                self._cause = self._cause or "it is slower than the session"
                return
            self._cases.append(list(records))
            self._lock.notify()
            if self._thread is None:
                # A store that hangs must not keep the process from its end.
                self._thread = threading.Thread(target=self._run, name=f"send to {self.store.name}", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Wait until all is sent, at most :data:`END_S`, and not for a store that keeps failing; say what is not."""
        if self._thread is None:
            return
        self._closing.set()
        with self._lock:
            self._lock.notify()
        self._thread.join(END_S)
        late, self._thread = self._thread.is_alive(), None
        self._abandoned = True
        with self._lock:
            missing, added = self._added - self._sent, self._added
            self._added = self._sent = 0
        if missing:
            cause = self._cause or (f"not done {END_S:g} s after the session's end" if late else "")
            self._say(
                f"{self.store.name}: {missing} of {added} records were not sent to {self.store.connection.url}: "
                f"{cause}; the perflog has them, and `{self._later}` sends them"
            )

    def _run(self) -> None:
        while (cases := self._next()) is not None:
            if not self._deliver(cases):
                return

    def _next(self) -> list[list[Record]] | None:
        """Wait for cases and return those that fit one request; None at the end."""
        with self._lock:
            while not self._cases:
                if self._closing.is_set():
                    return None
                self._lock.wait()
            cases = [self._cases.popleft()]
            while self._cases and sum(map(len, cases)) + len(self._cases[0]) <= AT_ONCE:
                cases.append(self._cases.popleft())
            return cases

    def _deliver(self, cases: Sequence[list[Record]]) -> bool:
        """Send cases until the store takes or refuses them; tell whether there is any use in going on."""
        records = [record for case in cases for record in case]
        while True:
            try:
                self.store.send(records)
                self._failures = 0
                self._count(len(records))
                return True
            except TryLater as error:
                self._failed(str(error))
                self._failures += 1
                # Whoever is down when the session ends has had his tries, but for the first failure.
                if self._closing.is_set() and self._failures > 1:
                    return False
                pause = PAUSES_S[min(self._failures, len(PAUSES_S)) - 1]
                self._closing.wait(pause) if not self._closing.is_set() else time.sleep(PAUSES_S[0])
            except Refused as error:
                if error.records is None and len(cases) > 1:
                    # One case may spoil the request of all.
                    return all([self._deliver([case]) for case in cases])
                self._failed(str(error))
                self._count(0 if error.records is None else len(records) - error.records)
                return True
            except FabricError as error:
                self._failed(str(error))
                return True

    def _count(self, records: int) -> None:
        with self._lock:
            self._sent += records

    def _failed(self, cause: str) -> None:
        if self._abandoned:
            return  # all has been said
        if not self._cause:
            self._say(f"{self.store.name}: {self.store.connection.url}: {cause}; the session goes on")
        self._cause = cause
