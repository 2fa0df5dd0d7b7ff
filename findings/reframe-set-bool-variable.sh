#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# ReFrame 4.10.4: `-S flag=False` for a `variable(bool)`. Expected: False, or an error. Seen: True, without a warning, for
# any text but the empty one: the text itself is converted by bool(). A variable of reframe.utility.typecheck.Bool
# becomes False, and refuses what is neither.
. "$(dirname "$0")/lib/reframe.sh"
cat > check.py <<'PY'
import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.builtins import run_before, sanity_function, variable

@rfm.simple_test
class Bandwidth(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "echo"
    plain = variable(bool, value=False)
    typed = variable(typ.Bool, value=True)

    @run_before("run")
    def set_options(self):
        self.executable_opts = [f"plain={self.plain}", f"typed={self.typed}"]

    @sanity_function
    def validate(self):
        return sn.assert_found(r"plain=", self.stdout)
PY
for text in False no 0; do
    rm -rf stage
    venv/bin/reframe -c check.py -r --keep-stage-files -S plain=$text -S typed=$text > out.txt 2>&1 || changed "the run fails"
    seen=$(cat stage/*/*/*/Bandwidth*/rfm_job.out)
    echo "--- -S plain=$text -S typed=$text: $seen"
    [ "$seen" = "plain=True typed=False" ] || changed "$seen"
    ! grep -q WARNING out.txt || changed "it warns"
done
echo "as described"
