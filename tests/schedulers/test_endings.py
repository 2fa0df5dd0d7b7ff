# SPDX-License-Identifier: BSD-3-Clause
from fabric_checks.schedulers import endings


def test_of_many_nodes_some_are_named():
    found = {f"n{i}": f"n{i} is down" for i in range(20)}
    *some, last = endings.listed(found).split("; ")
    assert len(some) == endings.MOST_SHOWN - 1 and last == "and 13 more"
    assert endings.listed(dict(list(found.items())[:2])) == "n0 is down; n1 is down"


def test_a_job_that_never_had_a_node():
    said = endings.ended("7", [], endings.CANCELLED, "CA", {})
    assert said.text == "job 7 had not started; it was cancelled, but not by this session (CA)"


def test_what_a_job_waited_for():
    said = endings.waited("7", 9.6, "X says: no", wrong={"a": "a is down"}, busy=["b"], known=3)
    assert said.text == (
        "job 7 is still waiting after 10 s in the queue and was cancelled; X says: no: a is down; "
        "b taken by other jobs (1 of 3 nodes)"
    )
