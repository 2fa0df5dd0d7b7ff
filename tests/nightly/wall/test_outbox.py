# SPDX-License-Identifier: BSD-3-Clause
"""The outbox: each message once, whatever is killed, down, refused or broken."""

from dataclasses import replace
from pathlib import Path

import pytest

from fabric_checks.core.locks import LockedError, exclusive
from fabric_checks.nightly.wall import outbox
from fabric_checks.nightly.wall.outbox import Outbox
from fabric_checks.nightly.wall.receivers import Receiver
from tests.nightly.samples import finding, night
from tests.nightly.wall.listening import listening


@pytest.fixture(autouse=True)
def pauses(monkeypatch):
    monkeypatch.setattr(outbox, "PAUSES_S", (0.0, 0.0))


@pytest.fixture
def listener():
    with listening() as found:
        yield found


@pytest.fixture
def box(tmp_path):
    return Outbox(tmp_path / "sys")


def nights(count):
    """Return nights of which every other one has a finding: each but the first has a message."""
    return [night(number, *([finding()] if number % 2 == 0 else [])) for number in range(1, count + 1)]


def known(listener, *names):
    return [Receiver(name, "json", listener.url) for name in names or ("ops",)]


def files(box, kind):
    return sorted(path.name.split(".")[1] for path in box.folder.glob(f"*/{kind}/*"))


def test_each_night_is_sent_once_to_each_receiver(box, listener):
    to = known(listener, "a", "b")
    for count in range(1, 4):
        box.write(to, nights(count)[:-1])
        box.write(to, nights(count))
        assert box.send(to) == [] and box.send(to) == []
    assert [each["event"] for each in listener.messages.values()] == ["new", "new", "closed", "closed"]
    assert len(listener.requests) == 4 and files(box, "sent") == ["closed", "closed", "new", "new"]
    assert box.waiting() == {"a": 0, "b": 0}


def test_a_new_receiver_gets_nothing_of_the_nights_before_it(box, listener):
    to = known(listener)
    box.write(to, nights(2))
    assert box.send(to) == [] and not listener.requests
    box.write(to, nights(3))
    box.send(to)
    assert len(listener.messages) == 1


def test_a_night_that_is_judged_again_repeats_nothing_and_adds_what_is_new(box, listener):
    to = known(listener)
    box.write(to, [])
    for judged in (nights(3), nights(3)):
        box.write(to, judged, nights(2)[1].session)
        box.send(to)
    assert len(listener.requests) == 2
    again = nights(3)
    again[1] = again[1].with_more([finding("hosts:n9")])
    box.write(to, again, again[1].session)
    box.send(to)
    assert len(listener.requests) == 3


def test_a_sender_that_runs_during_a_night_hides_none_of_its_messages(box, listener):
    to, (first, second) = known(listener), nights(2)
    box.write(to, [])
    box.write(to, [first, replace(second, ended=False, findings=())])
    # The night is killed between its end in the journal and its messages; the next sender has them.
    box.write(to, [first, second])
    assert box.send(to) == [] and [each["event"] for each in listener.messages.values()] == ["new"]


@pytest.mark.parametrize("fault", [500, "cut", "lost"])
def test_a_receiver_that_fails_has_each_message_once_when_it_is_back(box, listener, fault):
    to = known(listener)
    box.write(to, [])
    box.write(to, nights(3))
    listener.faults = [fault] * 3
    (line,) = box.send(to)
    assert line.startswith("2 messages wait for ops: ") and "`fabric-checks findings send` tries again" in line
    assert len(listener.requests) == 3 and len({request[4] for request in listener.requests}) == 1  # frozen
    assert box.waiting() == {"ops": 2}
    assert box.send(to) == [] and [each["event"] for each in listener.messages.values()] == ["new", "closed"]


def test_messages_that_are_refused_for_good_are_one_line_and_do_not_hold_the_others(box, listener):
    to = known(listener)
    box.write(to, [])
    box.write(to, nights(4))
    listener.faults = [413, 413]
    (line,) = box.send(to)
    first = min((box.folder / "ops/waiting").iterdir())
    assert line == f"ops does not take {first} and 1 more: it answers 413; mend that, or delete what is refused"
    assert [each["event"] for each in listener.messages.values()] == ["new"] and box.waiting() == {"ops": 2}


def test_messages_to_a_receiver_that_is_not_given_any_more_are_named(box, listener):
    to = known(listener, "a", "b")
    box.write(to, [])
    box.write(to, nights(2))
    (line,) = box.send(to[:1])
    assert line.startswith("1 message to b cannot be sent: no such receiver is given") and len(listener.requests) == 1


def test_another_process_that_sends_is_waited_for_and_named(box, listener, monkeypatch):
    to = known(listener)
    box.write(to, [])
    box.write(to, nights(2))
    monkeypatch.setattr(outbox, "WAIT_S", 0.0)
    with exclusive(box.folder / "lock", 0), pytest.raises(LockedError, match="locked by"):
        box.send(to)


def test_what_a_killed_writer_leaves_is_no_message(box, listener, monkeypatch):
    to = known(listener)
    box.write(to, [])
    monkeypatch.setattr(Path, "unlink", lambda *_, **__: None)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        box.write(to, nights(2))
    assert len(list((box.folder / "ops/waiting").iterdir())) == 1 and box.waiting() == {"ops": 0}
    assert box.send(to) == [] and not listener.requests


class Killed(BaseException):
    """The process ends here, before the step that is due."""


def test_a_kill_before_any_step_loses_no_message_and_doubles_none(tmp_path, listener, monkeypatch):
    """Every rename, every new file and every request is a step, and each is the last one of some process."""
    real = {"replace": Path.replace, "rename": Path.rename, "touch": Path.touch, "post": outbox.receivers.post}
    left = None

    def counted(name):
        def step(*arguments, **options):
            nonlocal left
            if left == 0:
                raise Killed
            left = None if left is None else left - 1
            return real[name](*arguments, **options)

        return step

    for name in ("replace", "rename", "touch"):
        monkeypatch.setattr(Path, name, counted(name))
    monkeypatch.setattr(outbox.receivers, "post", counted("post"))
    to = known(listener)

    def go_on(box, count):
        box.write(to, nights(count)[:-1])
        box.write(to, nights(count))
        box.send(to)

    deaths = 0
    while True:
        box, left = Outbox(tmp_path / f"sys-{deaths}"), None
        listener.messages.clear()
        box.write(to, [])
        go_on(box, 1)
        left = deaths
        try:
            go_on(box, 2)
            break
        except Killed:
            deaths += 1
        left = None
        go_on(box, 3)  # the next night
        events = [each["event"] for each in listener.messages.values()]
        assert events == ["new", "closed"] and box.waiting() == {"ops": 0}, deaths
    assert deaths >= 6, deaths
