#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# ReFrame 4.10.4: `current_partition.extras` of a running test. Expected: what the site has written in the settings, as
# for an environment. Seen: also `scheduler` and `launcher`, which ReFrame adds, so that a test which lists or checks the
# site's extras finds two it does not know. One that the site writes itself is kept, and need not be the real one.
. "$(dirname "$0")/lib/reframe.sh"
cat > settings.py <<'PY'
def partition(name, **extras):
    return {"name": name, "scheduler": "local", "launcher": "local", "environs": ["plain"], "extras": extras}

site_configuration = {
    "systems": [{
        "name": "cluster",
        "hostnames": [".*"],
        "partitions": [partition("one", fabric="ib"), partition("two", fabric="ib", launcher="ours")],
    }],
    "environments": [{"name": "plain", "extras": {"mpi": "4.1"}}],
}
PY
cat > check.py <<'PY'
import reframe as rfm
from reframe.core.builtins import run_before, sanity_function

@rfm.simple_test
class Extras(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "true"

    @run_before("run")
    def show(self):
        print("seen", self.current_partition.name, sorted(self.current_partition.extras.items()))
        print("seen", self.current_environ.name, sorted(self.current_environ.extras.items()))

    @sanity_function
    def validate(self):
        return True
PY
venv/bin/reframe -C settings.py -c check.py -r > out.txt 2>&1 || changed "the run fails"
grep "^seen" out.txt | sort -u | tee seen.txt
grep -q "one.*('fabric', 'ib'), ('launcher', 'local'), ('scheduler', 'local')" seen.txt || changed "nothing is added"
grep -q "two.*('fabric', 'ib'), ('launcher', 'ours'), ('scheduler', 'local')" seen.txt || changed "the site's own launcher is not kept"
grep -q "plain \[('mpi', '4.1')\]" seen.txt || changed "an environment has other extras than written"
echo "as described"
