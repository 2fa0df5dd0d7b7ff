#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# ReFrame 4.10.4: a reference of 100 MB/s for `bandwith`, while the test measures `bandwidth`, 1 MB/s. Expected: a
# warning of the reference that belongs to nothing, as of a unit that differs. Seen: no warning, the test is OK, exit
# status 0.
. "$(dirname "$0")/lib/reframe.sh"
cat > check.py <<'P'
import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import performance_function, sanity_function


class Bandwidth(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "echo"
    executable_opts = ["started"]

    @sanity_function
    def started(self):
        return sn.assert_found("started", self.stdout)

    @performance_function("MB/s")
    def bandwidth(self):
        return 1


@rfm.simple_test
class OtherUnit(Bandwidth):
    reference = {"*": {"bandwidth": (1, -0.1, None, "GB/s")}}


@rfm.simple_test
class OtherName(Bandwidth):
    reference = {"*": {"bandwith": (100, -0.1, None, "MB/s")}}
P
for test in OtherUnit OtherName; do
    venv/bin/reframe -c check.py -r -n "$test\$" > $test.txt 2>&1 && status=0 || status=$?
    echo "$test: exit status $status, $(grep -c WARNING $test.txt || true) warning"
    [ "$status" = 0 ] || changed "$test fails"
done
grep -q "does not match the unit" OtherUnit.txt || changed "a unit that differs is no warning"
! grep -q WARNING OtherName.txt || changed "a reference of no variable is a warning"
echo "as described"
