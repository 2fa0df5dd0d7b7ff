# SPDX-License-Identifier: BSD-3-Clause
"""Command lines that are refused before anything is started."""

import os
import sys

import pytest

from tests import programs
from tests.cluster.conftest import CI


def refused(*arguments, **environment):
    """Return the one line of a refusal."""
    line = [CI / "cluster", *arguments]
    done = programs.run(line, env=os.environ | environment)
    assert done.returncode != 0, done.stdout
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    return line


@pytest.mark.parametrize(
    "arguments, says",
    [
        ([], "required: COMMAND"),
        (["up", "--nodes", "501"], "501 nodes are impossible"),
        (["up", "--nodes", "2", "--cores", "0"], "0 cores a host are impossible"),
        (
            ["up", "--nodes", "2", "--shape", "n3=1gbit"],
            "no node is called 'n3'; the nodes are n1 to n2",
        ),
        (["up", "--nodes", "2", "--name", "a/b"], "'a/b' is not a name for a cluster"),
        (["up", "--nodes", "2", "--", "true"], "up takes no command after --"),
        (
            ["exec", "head"],
            "no command; write it after --, as in: ci/cluster exec head -- sinfo",
        ),
        (
            ["up", "--nodes", "2", "--scheduler", "flux", "--without-accounting"],
            "goes with --scheduler slurm",
        ),
        (["down", "--name", "no-such"], "no cluster called no-such is up"),
    ],
)
def test_refusals(arguments, says):
    assert says in refused(*arguments)


def test_a_long_path_is_refused_before_sockets_fail(machine, tmp_path):
    place = tmp_path / ("x" * 80)
    place.mkdir()
    assert "is too long for the sockets in it; set TMPDIR" in refused("up", "--nodes", "1", "--name", "long",
                                                                      TMPDIR=str(place))  # fmt: skip


def test_namespaces_that_are_not_allowed(machine):
    """For real: in a user namespace of its own, root may lower the limits."""
    script = """
import sys
from pathlib import Path
Path("/proc/sys/user/max_pid_namespaces").write_text("0")
sys.path.insert(0, sys.argv[1])
from minicluster import needs
needs.check_namespaces(needs.Account("me", 0, 0, rootless=False))
"""
    line = ["unshare", "-Ur", sys.executable, "-c", script, str(CI)]
    done = programs.run(line)
    assert done.returncode == 1
    assert (
        "too many namespaces are in use (unshare pid net mnt uts ipc: No space left"
        in done.stderr
    )


def test_the_root_of_a_user_namespace_is_refused(machine):
    done = programs.run(["unshare", "-Ur", CI / "cluster", "up", "--nodes", "1"])
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(
        "error: this root belongs to a user namespace and may not call setgroups"
    )


def test_a_scheduler_that_is_not_there_is_named_with_the_remedy(tmp_path):
    for program in ("ip", "tc"):
        (tmp_path / program).symlink_to("/bin/true")
    said = refused(
        "up", "--nodes", "2", "--scheduler", "flux", FABRIC_FLUX_PREFIX=str(tmp_path)
    )
    assert f"FABRIC_FLUX_PREFIX is '{tmp_path}', which has no folder bin" in said
