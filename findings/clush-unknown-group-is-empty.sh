#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# clush and nodeset of ClusterShell 1.9.3 with a misspelt group, @fualty for @faulty. Expected: an error, as for a misspelt
# source of groups. Seen: the group is empty, without a word: `clush -w @compute -x @fualty` runs on the node that was to
# be left out, exit status 0, and `nodeset -c` counts 0.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install "ClusterShell==1.9.3" >&2 || { echo "cannot install ClusterShell"; exit 2; }
changed() { echo "CHANGED: $1"; exit 1; }
export CLUSTERSHELL_CFGDIR=$folder
mkdir groups.d
printf '[Main]\ndefault: roles\nautodir: %s/groups.d\n' "$folder" > groups.conf
printf 'roles:\n    compute: "n[1-4]"\n    faulty: "n3"\n' > groups.d/roles.yaml
venv/bin/nodeset --version
# ask LINE: run it; its answer is in $seen, its standard error in err.txt, its exit status in $status.
ask() {
    status=0
    seen=$(timeout 20 venv/bin/$1 2> err.txt < /dev/null | sort | xargs) || status=$?
    echo "$1: $seen, exit status $status"
}
ask "clush -w @compute -x @faulty -R exec echo %h"
[ "$seen" = "n1: n1 n2: n2 n4: n4" ] || changed "clush does not leave out the group"
ask "clush -w @compute -x @fualty -R exec echo %h"
[ "$seen" = "n1: n1 n2: n2 n3: n3 n4: n4" ] || changed "clush does not run on all nodes"
[ "$status" = 0 ] && [ ! -s err.txt ] || changed "clush tells of the misspelt group"
ask "nodeset -c @fualty"
[ "$seen" = 0 ] && [ "$status" = 0 ] && [ ! -s err.txt ] || changed "nodeset tells of the misspelt group"
ask "nodeset -c @role:faulty"
[ "$status" = 1 ] || changed "a misspelt source of groups is no error"
echo "as described"
