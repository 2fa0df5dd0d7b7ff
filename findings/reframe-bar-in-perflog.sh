#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# ReFrame 4.10.4, its performance log as it is without a configuration, a test with a variable that has a bar, "core|numa".
# Expected: the bar is quoted or escaped, as it is what the log separates its fields by. Seen: it is written as it is; the
# line has one field more than the heading, and who reads the log by its heading finds "null" for the value of 100.
. "$(dirname "$0")/lib/reframe.sh"
cat > check.py <<'P'
import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import parameter, performance_function, sanity_function


@rfm.simple_test
class Bandwidth(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "echo"
    executable_opts = ["started"]
    binding = parameter(["none", "core|numa"])

    @sanity_function
    def started(self):
        return sn.assert_found("started", self.stdout)

    @performance_function("MB/s")
    def bandwidth(self):
        return 100
P
venv/bin/reframe -c check.py -r > run.txt 2>&1 || changed "the tests fail"
log=$(ls perflogs/*/*/Bandwidth*.log)
cat > read.py <<'P'
import csv, sys
for row in csv.DictReader(open(sys.argv[1]), delimiter="|"):
    print(row["binding"], row["bandwidth_value"], row["bandwidth_unit"])
P
python3 read.py "$log" | sort | tee seen.txt
! grep -q WARNING run.txt || changed "it warns"
grep -q "^none 100.* MB/s$" seen.txt || changed "the line without a bar is not read"
grep -q "^core null" seen.txt || changed "the line with a bar is read in another way"
grep -q "|core|numa|" "$log" || changed "the bar is not written as it is"
echo "as described"
