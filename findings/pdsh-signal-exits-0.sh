#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# pdsh 2.34 with -S, "return largest of remote command return values", and programs that it starts itself (-R exec). Expected:
# 137, or any status but 0, where a program was killed by a signal, as of memory that ran out. Seen: 0; one line on standard
# error. With a second host whose program ends with 3, the status is 3, and says nothing of the first.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download pdsh=2.34-0.2 genders libgenders0 2>/dev/null || { echo "cannot download the packages"; exit 2; }
for package in *.deb; do dpkg -x "$package" root; done
changed() { echo "CHANGED: $1"; exit 1; }
export LD_LIBRARY_PATH=$folder/root/usr/lib/x86_64-linux-gnu PATH=$folder/root/usr/bin:$PATH
export PDSH_MODULE_DIR=$folder/root/usr/lib/x86_64-linux-gnu/pdsh
# pdsh takes another folder of modules from everybody but root.
ordinary=()
[ "$(id -u)" -ne 0 ] || ordinary=(unshare --user --map-user=1000)
# Run a line of shell on hosts: $1 for pdsh, in which it has %h for the host.
on() {
    # shellcheck disable=SC2016
    "${ordinary[@]}" bash -c 'exec -a pdsh "$0" -R exec -S -w "$1" sh -c "$2"' "$folder/root/usr/bin/pdsh.bin" "$1" "$2" 2> messages &&
        status=0 || status=$?
    echo "status $status: $2"
    sort messages | sed 's/^/    /'
}
on n1 'exit 0'
[ "$status" -eq 0 ] || { echo "cannot run pdsh"; exit 2; }
on n[1-2] 'exit 3'
[ "$status" -eq 3 ] || changed "-S does not return the status of a program"
on n[1-2] 'kill -9 $$'
[ "$status" -eq 0 ] || changed "the status of killed programs is $status"
grep -q "n1: sh killed by signal 9" messages || changed "it does not say that n1's was killed"
on n[1-2] 'test %h = n2 && exit 3; kill -9 $$'
[ "$status" -eq 3 ] || changed "the status of one that was killed and one of 3 is $status"
echo "as described"
