# SPDX-License-Identifier: BSD-3-Clause
"""The command, called within the process of the tests."""

from click.testing import CliRunner

from fabric_checks.cli.main import cli
from fabric_checks.core.errors import FabricError


def invoke(*words):
    """Call the command; what ends it other than by an exit status or an error of its own is raised."""
    done = CliRunner().invoke(cli, [str(word) for word in words])
    if done.exception and not isinstance(done.exception, SystemExit | FabricError):
        raise done.exception
    return done
