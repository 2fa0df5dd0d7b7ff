# SPDX-License-Identifier: BSD-3-Clause
import pytest

from ci.minicluster import daemons
from ci.minicluster.errors import ClusterError
from ci.minicluster.spec import Account

ROOT = Account("root", 0, 0, rootless=False)


def daemon(tmp_path, script):
    made = daemons.Daemon("thing", ["sh", "-c", script], tmp_path / "log", ROOT)
    made.start()
    return made


def test_the_folders_of_daemons_come_after_the_users_own():
    assert daemons.search_path("/mine:/usr/bin").startswith(
        "/mine:/usr/bin:/usr/local/sbin:/usr/sbin:"
    )
    assert "::" not in daemons.search_path("") and daemons.search_path("").startswith(
        "/"
    )


def test_a_daemon_that_ends_while_it_starts(tmp_path):
    made = daemon(tmp_path, "echo fatal: no key >&2; exit 1")
    with pytest.raises(
        ClusterError, match="thing ended while it started: fatal: no key"
    ):
        made.wait_until(lambda: False, 10)


def test_a_daemon_that_does_not_answer(tmp_path):
    made = daemon(tmp_path, "echo waiting; exec sleep 60")
    with pytest.raises(
        ClusterError, match=r"thing does not answer after 0.3 s: waiting"
    ):
        made.wait_until(lambda: False, 0.3)
    assert made.runs  # it was not waited for
    made.kill()
    assert not made.runs


def test_a_daemon_that_ends_when_it_has_answered(tmp_path):
    made = daemon(tmp_path, "echo fatal: no state >&2; read line; exit 1")

    def answers():
        made.process.wait(10)
        return True

    with pytest.raises(ClusterError, match="ended while it started: fatal: no state"):
        made.wait_until(answers, 10)
