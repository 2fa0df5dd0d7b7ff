# SPDX-License-Identifier: BSD-3-Clause
"""The command `fabric-checks demo`."""

from tests.calling import invoke


def test_the_slow_node_is_named_and_what_is_shown_is_said_to_be_a_replay(tmp_path):
    page = tmp_path / "demo.html"
    done = invoke("demo", "-o", page)
    lines = done.output.splitlines()
    assert done.exit_code == 0 and lines[0].startswith("A replay: nothing is measured")
    faults = [line for line in lines if line.strip().startswith("fault: ")]
    assert len(faults) == 1 and "fault: node n3 sends and receives" in faults[0]
    assert str(page) in done.output and "node n3 sends and receives" in page.read_text()


def test_a_folder_that_is_not_there_is_wrong_usage(tmp_path):
    done = invoke("demo", "-o", tmp_path / "none" / "demo.html")
    assert done.exit_code == 2 and "there is no such folder" in done.output
