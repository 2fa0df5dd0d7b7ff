#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# ReFrame 4.10.4 with `-x Build`, while a test of the run depends on Build. Expected: Build does not run, and the test that
# needs it is left out or fails. Seen: Build runs, both are OK, no warning.
. "$(dirname "$0")/lib/reframe.sh"
cat > check.py <<'P'
import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import run_after, sanity_function


class Started(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "echo"
    executable_opts = ["started"]

    @sanity_function
    def started(self):
        return sn.assert_found("started", self.stdout)


@rfm.simple_test
class Build(Started):
    pass


@rfm.simple_test
class Bandwidth(Started):
    @run_after("init")
    def needs(self):
        self.depends_on("Build")
P
venv/bin/reframe -c check.py -r -x Build > run.txt 2>&1 && status=0 || status=$?
grep -E "WARNING|OK|FAIL|Ran " run.txt
echo "exit status $status"
grep -q "OK.* Build " run.txt || changed "the excluded test does not run"
grep -q "Ran 2/2" run.txt && [ "$status" = 0 ] || changed "not both are OK"
! grep -q WARNING run.txt || changed "it warns"
echo "as described"
