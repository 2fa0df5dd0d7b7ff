#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# ReFrame 4.10.4: a test has a folder in `keep_files`, and `--prefix` names a symbolic link. Expected: the folder is
# copied to the test's output, as without the link. Seen: it is not there. If the link and what it points to lie in the
# same folder, the test fails, with a reason that is spelt letter by letter; if not, the test passes, exit status 0, and
# the folder is copied to a path outside the prefix. A single file is kept in both cases.
. "$(dirname "$0")/lib/reframe.sh"
cat > check.py <<'PY'
import reframe as rfm
from reframe.core.builtins import sanity_function

@rfm.simple_test
class Profile(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "mkdir traces; echo 1 > traces/rank0; echo 2 > summary"
    keep_files = ["summary", "traces"]

    @sanity_function
    def validate(self):
        return True
PY
# Run the test below a prefix; print its end and what is kept.
run() {
    echo "--- $1"
    venv/bin/reframe -c check.py -r --prefix="$PWD/$1" > out.txt 2>&1 && status=0 || status=$?
    grep -E "Ran |Reason" out.txt | cut -c1-110
    (cd "$1/output" && find . -name rank0 -o -name summary) | sed 's|.*/Profile[^/]*/|in the output: |' | sort | tee kept.txt
}
mkdir plain beside other other/deeper
ln -s beside link
ln -s other/deeper link2
run plain
[ "$status" = 0 ] && [ "$(wc -l < kept.txt)" = 2 ] || changed "without a link the folder is not kept"
run link
[ "$status" = 1 ] || changed "the exit status with a link to its neighbour is $status"
grep -q "Reason.*\['<', 'D'" out.txt || changed "the reason is not spelt letter by letter"
grep -q summary kept.txt || changed "the file is not kept behind a link to its neighbour"
! grep -q rank0 kept.txt || changed "the folder is kept behind a link to its neighbour"
run link2
[ "$status" = 0 ] || changed "the exit status with a link to another folder is $status"
grep -q summary kept.txt || changed "the file is not kept behind a link to another folder"
! grep -q rank0 kept.txt || changed "the folder is kept behind a link to another folder"
echo "astray: $(find other/other -name rank0)"
[ -n "$(find other/other -path '*/stage/*' -name rank0)" ] || changed "the folder has not gone astray"
echo "as described"
