#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# ReFrame 4.10.4 with its results stored: one run of 100 MB/s that passes, one of 10 MB/s that fails by its reference. Expected
# of `--list-stored-testcases` and `--performance-compare` with `mean`: 100, the mean of what passed, or a mark. Seen: 55, in
# the tables no sign that one of the two runs failed.
. "$(dirname "$0")/lib/reframe.sh"
export RFM_ENABLE_RESULTS_STORAGE=1 RFM_PREFIX=$folder/results RFM_SQLITE_DB_FILE=$folder/results/results.db
cat > check.py <<'P'
import os

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import performance_function, sanity_function


@rfm.simple_test
class Bandwidth(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "echo"
    executable_opts = ["started"]
    reference = {"*": {"bandwidth": (100, -0.1, None, "MB/s")}}

    @sanity_function
    def started(self):
        return sn.assert_found("started", self.stdout)

    @performance_function("MB/s")
    def bandwidth(self):
        return float(os.environ["BANDWIDTH"])
P
run() { BANDWIDTH=$1 venv/bin/reframe -c check.py -r > run.txt 2>&1 && status=0 || status=$?; }
run 100
[ "$status" = 0 ] || changed "the first run fails"
run 10
[ "$status" = 1 ] || changed "the second run passes"
for table in "list-stored-testcases=now-1h:now/mean:/" "performance-compare=now-1h:now/now-1h:now/mean:/"; do
    venv/bin/reframe "--$table" > table.txt 2>&1 || changed "--$table fails"
    echo "--$table"; grep Bandwidth table.txt
    grep -q "Bandwidth.* 55 " table.txt || changed "the mean is no longer that of both"
    ! grep -qiE "fail|WARNING" table.txt || changed "a failed run is marked"
done
echo "as described"
