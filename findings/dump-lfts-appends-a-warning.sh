#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# dump_lfts of infiniband-diags 44. Expected: forwarding tables on standard output, remarks on standard error. Seen: a
# warning that the command has been replaced, behind the tables, on standard output.
. "$(dirname "$0")/lib/infiniband.sh"
fabric 1 > net
simulate net
opensm_once
# The script calls dump_fts by its full path, which is not there in a temporary folder.
sed "s|/usr/sbin/dump_fts|dump_fts|" root/usr/sbin/dump_lfts > dump_lfts.sh
sim dump_fts > fts.txt 2> fts.err
sim sh dump_lfts.sh > lfts.txt 2> lfts.err
ibnetdiscover --version 2>&1 | head -1 || true
diff fts.txt lfts.txt > more.txt && changed "both print the same"
cat more.txt
grep -q "^> .*WARNING.*replaced by dump_fts" more.txt || changed "standard output has no warning"
! grep -q "^<" more.txt || changed "lines of the tables are missing"
[ ! -s lfts.err ] || changed "standard error is not empty"
echo "as described"
