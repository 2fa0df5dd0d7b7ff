#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# OpenSM 3.3.23 and a file of partitions that makes the hosts limited members, which cannot talk to each other, with one line
# added that lacks its colon. Expected: a failure, or all lines but that one. Seen: none of the file counts: every port is a full
# member of the one default partition, exit status 0, two lines in the log. And where a line names an adapter by the GUID that
# ibnetdiscover prints for it, instead of its port's, it belongs to nobody, without a word.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib/infiniband.sh"
fabric 1 > net
simulate net
# Print the partition keys of the port with a GUID: its LID stands behind it where ibnetdiscover prints the port.
keys() {
    local lid
    lid=$(sim ibnetdiscover | grep -oE "^\\[1\\]\\(${1#0x}\\).*# lid [0-9]+" | grep -oE "[0-9]+$")
    sim smpquery pkeys "$lid" 1 | sed -n 's/^ *0: //p' | tr ' ' '\n' | grep -v 0x0000 | paste -sd' '
}
apply() {
    opensm_once -P "$1" || changed "OpenSM ends with $?"
    echo "$2: cn1 has $(keys 0x100001), cn2 has $(keys 0x100003), cn3 has $(keys 0x100005)"
}
cat > good <<'CONF'
Default=0x7fff : ALL=limited, SELF=full ;
project=0x8001 : 0x100003=full, 0x100005=full ;
CONF
{ cat good; echo "other=0x8002 0x100003=full ;"; } > bad
sed 's/0x100003/0x100002/' good > adapter
opensm --version | grep -m1 OpenSM
apply good "as written"
[ "$(keys 0x100003)" = "0x7fff 0x8001" ] || changed "a good file gives cn2 other keys"
apply bad "with one bad line"
grep -E "parse_part_conf|Partition configuration" opensm.log | cut -d'>' -f2-
[ "$(keys 0x100003)" = 0xffff ] || changed "with a bad line cn2 is no full member of the default partition alone"
grep -q "retrying with default config" opensm.log || changed "the log does not say so"
sim ibnetdiscover | grep '^Ca.*"cn2'
rm opensm.log
apply adapter "cn2 named by its adapter"
[ "$(keys 0x100003)" = 0x7fff ] || changed "a GUID of an adapter gives its port the key"
! grep -qiE "0x100002|0x0000000000100002.*part" opensm.log || changed "the log has a word of it"
echo "as described"
