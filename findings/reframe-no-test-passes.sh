#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# ReFrame 4.10.4 with a name, a tag or an environment that no test has. Expected: an error, as for a misspelt system or mode;
# or an exit status other than 0. Seen: "PASSED, Ran 0/0 test case(s)", exit status 0, no warning.
. "$(dirname "$0")/lib/reframe.sh"
cat > check.py <<'P'
import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import sanity_function


@rfm.simple_test
class Bandwidth(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "echo"
    executable_opts = ["started"]
    tags = {"fabric"}

    @sanity_function
    def started(self):
        return sn.assert_found("started", self.stdout)
P
# Run with some options; the output is in run.txt, the exit status in $status.
run() {
    status=0
    venv/bin/reframe -c check.py -r "$@" > run.txt 2>&1 || status=$?
    echo "$*: exit status $status"
    grep -E "WARNING|ERROR|Ran " run.txt || true
}
run -n Bandwidth -t fabric -p builtin
grep -q "Ran 1/1" run.txt || changed "the test does not run"
run --mode nightly
[ "$status" = 1 ] || changed "a misspelt mode is no error"
for option in "-n Bandwith" "-t fabrik" "-p builtins"; do
    run $option
    grep -q "PASSED .*Ran 0/0" run.txt && [ "$status" = 0 ] || changed "$option fails"
    ! grep -qE "WARNING|ERROR" run.txt || changed "$option warns"
done
echo "as described"
