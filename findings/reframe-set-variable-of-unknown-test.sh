#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# ReFrame 4.10.4: `-S TEST.VAR=VALUE` names a test that does not exist. Expected: the warning that a variable was not
# set, as for a misspelt variable. Seen: no word, the test runs with its default, PASSED, exit status 0.
. "$(dirname "$0")/lib/reframe.sh"
cat > check.py <<'PY'
import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import run_before, sanity_function, variable

@rfm.simple_test
class Bandwidth(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "echo"
    size = variable(int, value=4)

    @run_before("run")
    def set_options(self):
        self.executable_opts = [f"size={self.size}"]

    @sanity_function
    def validate(self):
        return sn.assert_found(r"size=4", self.stdout)
PY
venv/bin/reframe -c check.py -r -S Bandwidth.sise=8 > variable.txt 2>&1 || changed "a misspelt variable fails the run"
venv/bin/reframe -c check.py -r -S Bandwith.size=8 > test.txt 2>&1 || changed "a misspelt test fails the run"
echo "--- -S Bandwidth.sise=8"; grep -E "WARNING|PASSED  \]" variable.txt
echo "--- -S Bandwith.size=8"; grep -E "WARNING|PASSED  \]" test.txt || true
grep -q "were not set: 'sise'" variable.txt || changed "a misspelt variable does not warn"
grep -q "WARNING" test.txt && changed "a misspelt test warns"
grep -q "Ran 1/1" test.txt || changed "the test did not run"
echo "as described"
