# SPDX-License-Identifier: BSD-3-Clause
"""The outbox of a system's nights: a file for each message and receiver, as it is sent, whatever happens meanwhile.

A message is written once, below ``waiting``, and moved to ``sent`` when the receiver has taken it. A kill between the
receiver's answer and the move repeats the message with the same key and the same bytes: a receiver that keeps keys, as
Alertmanager does by its labels, has it once; no protocol over a network can do more. ``up-to`` is the last night
whose messages are all written.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fabric_checks.core import files
from fabric_checks.core.errors import FabricError
from fabric_checks.core.locks import LockedError, exclusive
from fabric_checks.core.text import count_text
from fabric_checks.nightly.journal import Entry
from fabric_checks.nightly.model import Acknowledgement
from fabric_checks.nightly.wall import messages, receivers
from fabric_checks.nightly.wall.receivers import Receiver

#: The pauses between the tries of a message, in seconds; after the last it waits for the next night, or for
#: `fabric-checks findings send`.
PAUSES_S = (2.0, 8.0, 20.0)
#: How long another process may send.
WAIT_S = 600.0


@dataclass(frozen=True)
class Outbox:
    """The outbox of a system.

    :param folder: its folder; :param system: the name of the system.
    """

    folder: Path
    system: str

    def begin(self, known: Sequence[Receiver], entries: Sequence[Entry | Acknowledgement]) -> None:
        """Note for each new receiver that it gets the messages of the nights that follow.

        :raises OSError: if it cannot be noted.
        """
        last = _sessions(entries)[-1:]
        for each in known:
            self._box(each.name, "waiting").mkdir(parents=True, exist_ok=True)
            if not self._up_to(each.name).exists():
                files.write_text(self._up_to(each.name), "".join(last))

    def put(
        self, known: Sequence[Receiver], entries: Sequence[Entry | Acknowledgement], judged: Iterable[str] = ()
    ) -> None:
        """Write the messages of all nights since those that are written, and of those that are judged again, each once.

        :raises OSError: if one cannot be written; the next call goes on there.
        :raises FabricError: if another process has been sending for long.
        """
        sessions = _sessions(entries)
        for each in known:
            with self._alone():
                last = files.read_text(self._up_to(each.name))
                after = sessions[sessions.index(last) + 1 :] if last in sessions else sessions if not last else []
                for message in messages.of_nights(self.system, entries, {*after, *judged}):
                    self._put(each, message)
                files.write_text(self._up_to(each.name), "".join(sessions[-1:]))

    def _put(self, receiver: Receiver, message: messages.Message) -> None:
        name = f"{message.name}.json"
        if not any((self._box(receiver.name, box) / name).exists() for box in ("waiting", "sent")):
            key = hashlib.sha256("\n".join((self.system, receiver.name, message.name)).encode()).hexdigest()[:32]
            frozen = {"key": key, "body": message.body(receiver.form, key)}
            # What a killed writer leaves is no message.
            with files.replacing(self._box(receiver.name, "waiting") / name, ending=".part") as new:
                new.write_text(json.dumps(frozen))

    def send(self, known: Sequence[Receiver]) -> list[str]:
        """Send what waits; return a line for each receiver that has not taken all, and for what cannot be sent.

        :raises FabricError: if another process has been sending for long.
        """
        if not any(self.waiting().values()):
            return []
        with self._alone():
            lines = [line for each in known for line in self._send_to(each)]
        names = {each.name for each in known}
        return lines + [
            f"{count_text(count, 'message')} to {name} cannot be sent: no such receiver is given; name it again with "
            f"--receivers, or delete {self._box(name, 'waiting')}"
            for name, count in self.waiting().items()
            if count and name not in names
        ]

    def waiting(self) -> dict[str, int]:
        """Return how many messages wait for each receiver that has had any."""
        boxes = sorted(self.folder.glob("*/waiting"))
        return {box.parent.name: sum(1 for _ in box.glob("*.json")) for box in boxes}

    def _up_to(self, name: str) -> Path:
        return self.folder / name / "up-to"

    def _box(self, name: str, box: str) -> Path:
        return self.folder / name / box

    @contextmanager
    def _alone(self) -> Iterator[None]:
        try:
            with exclusive(self.folder / "lock", WAIT_S):
                yield
        except LockedError as error:
            raise FabricError(f"{error}: nothing was sent; what waits is sent by the next night") from None

    def _send_to(self, receiver: Receiver) -> list[str]:
        """Send what waits for a receiver in the order of the nights, until it does not answer."""
        refused = []
        box, sent = self._box(receiver.name, "waiting"), self._box(receiver.name, "sent")
        sent.mkdir(parents=True, exist_ok=True)
        left = sorted(box.glob("*.json"))
        for number, path in enumerate(left):
            try:
                frozen = json.loads(files.read_text(path))
                key, body = str(frozen["key"]), str(frozen["body"])
            except (OSError, ValueError, KeyError, TypeError):
                refused.append(f"{path}: not a message as it was written: it is not sent; delete it")
                continue
            answer = _tried(receiver, key, body)
            if not answer.why:
                path.rename(sent / path.name)
            elif answer.is_final:
                refused.append(f"{receiver.name} does not take {path}: {answer.why}; mend that, or delete the file")
            else:
                count = count_text(len(left) - number, "message waits", "messages wait")
                return [
                    *refused,
                    f"{count} for {receiver.name}: {answer.why}; `fabric-checks findings send` tries again",
                ]
        return refused


def _tried(receiver: Receiver, key: str, body: str) -> receivers.Answer:
    for pause_s in PAUSES_S:
        answer = receivers.post(receiver, key, body)
        if not answer.why or answer.is_final:
            return answer
        time.sleep(pause_s)
    return receivers.post(receiver, key, body)


def _sessions(entries: Sequence[Entry | Acknowledgement]) -> list[str]:
    """Return the nights that ended: one that still runs has its messages to come."""
    return [entry.session for entry in entries if isinstance(entry, Entry) and entry.ended]
