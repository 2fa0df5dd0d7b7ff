# SPDX-License-Identifier: BSD-3-Clause
"""The outbox of a system's nights: a file for each message and receiver, as it is sent, whatever happens meanwhile.

A message is written once, below ``waiting``, and moved to ``sent`` when the receiver has taken it. A kill between the
receiver's answer and the move repeats the message with the same key and the same bytes: a receiver that keeps keys, as
Alertmanager does by its labels, has it once; no protocol over a network can do more. ``up-to`` is the last night
whose messages are all written.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from pathlib import Path

from fabric_checks.core import files
from fabric_checks.core.locks import exclusive
from fabric_checks.core.text import count_text, names_text
from fabric_checks.nightly.model import Acknowledgement, Night
from fabric_checks.nightly.wall import messages, receivers
from fabric_checks.nightly.wall.receivers import Receiver

#: The pauses between the tries of a message, in seconds; after the last it waits for the next night, or for
#: `fabric-checks findings send`.
PAUSES_S = (2.0, 8.0, 20.0)
#: How long another process may send.
WAIT_S = 600.0


class Outbox:
    """The outbox of a system's nights; :param nights: their folder, which has the name of the system."""

    def __init__(self, nights: Path) -> None:
        self.folder, self._system = nights / "outbox", nights.name

    def write(self, known: Sequence[Receiver], entries: Sequence[Night | Acknowledgement], judged: str = "") -> None:
        """Write the messages of the nights that ended since the last call, and of one that was judged again, each once.

        A receiver gets the messages of the nights after the first call with it.

        :raises OSError: if one cannot be written; the next call goes on there.
        :raises LockedError: if another process has been sending for long.
        """
        # A night that still runs has its messages to come.
        nights = [entry.session for entry in entries if isinstance(entry, Night) and entry.ended]
        for each in known:
            up_to = self.folder / each.name / "up-to"
            boxes = [self.folder / each.name / name for name in ("waiting", "sent")]
            for box in boxes:
                box.mkdir(parents=True, exist_ok=True)
            with exclusive(self.folder / "lock", WAIT_S):
                last = files.read_text(up_to) if up_to.exists() else "".join(nights[-1:])
                after = nights[nights.index(last) + 1 :] if last in nights else nights if not last else []
                for name, message in messages.of_nights(self._system, entries, {*after, judged}):
                    if not any((box / name).exists() for box in boxes):
                        # What a killed writer leaves is no message.
                        with files.replacing(boxes[0] / name, ending=".part") as new:
                            new.write_bytes(messages.body(message, each.form, self._key(each.name, name)))
                files.write_text(up_to, "".join(nights[-1:]))

    def send(self, known: Sequence[Receiver]) -> list[str]:
        """Send what waits; return a line for each receiver that has not taken all, and for what cannot be sent.

        :raises OSError: if a message cannot be read or moved.
        :raises LockedError: if another process has been sending for long.
        """
        if not any(self.waiting().values()):
            return []
        by_name = {each.name: each for each in known}
        lines = []
        with exclusive(self.folder / "lock", WAIT_S):
            for name, count in self.waiting().items():
                if name in by_name:
                    lines += self._send_to(by_name[name])
                elif count:
                    lines.append(
                        f"{count_text(count, 'message')} to {name} cannot be sent: no such receiver is given; name it "
                        f"again with --receivers, or delete {self.folder / name / 'waiting'}"
                    )
        return lines

    def waiting(self) -> dict[str, int]:
        """Return how many messages wait for each receiver that has had any."""
        return {box.parent.name: len([*box.glob("*.json")]) for box in sorted(self.folder.glob("*/waiting"))}

    def _key(self, receiver: str, message: str) -> str:
        return hashlib.sha256("\n".join((self._system, receiver, message)).encode()).hexdigest()[:32]

    def _send_to(self, receiver: Receiver) -> list[str]:
        """Send what waits for a receiver in the order of the nights, until it does not answer."""
        lines, refused = list[str](), dict[str, list[str]]()
        left = sorted((self.folder / receiver.name / "waiting").glob("*.json"))
        for number, path in enumerate(left):
            key, body = self._key(receiver.name, path.name), files.read_bytes(path)
            for pause_s in (0.0, *PAUSES_S):
                time.sleep(pause_s)
                why, is_final = receivers.post(receiver, key, body)
                if is_final or not why:
                    break
            if not why:
                path.rename(path.parent.with_name("sent") / path.name)
            elif is_final:
                refused.setdefault(why, []).append(str(path))
            else:
                count = count_text(len(left) - number, "message waits", "messages wait")
                lines = [f"{count} for {receiver.name}: {why}; `fabric-checks findings send` tries again"]
                break
        mend = "mend that, or delete what is refused"
        return lines + [
            f"{receiver.name} does not take {names_text(paths, 1)}: {why}; {mend}" for why, paths in refused.items()
        ]
