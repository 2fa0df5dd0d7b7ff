#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# UCX 1.13.1, UCX_TLS=tcp,rc without an adapter that has rc, and UCX_RNDV_THRESH=8q. Expected: the warning and the error on
# standard error. Seen: both are on standard output, before or within that of the program; standard error is empty. And
# `ucx_info -c` prints no parameter of UCP after the error, and ends with 0, while an endpoint cannot be made.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download ucx-utils=1.13.1-1 libucx0=1.13.1-1 libnuma1 libibverbs1 librdmacm1 libnl-3-200 libnl-route-3-200 2>/dev/null ||
    { echo "cannot download the packages"; exit 2; }
for package in *.deb; do dpkg -x "$package" root; done
export LD_LIBRARY_PATH=$folder/root/usr/lib/x86_64-linux-gnu:$folder/root/lib/x86_64-linux-gnu
changed() { echo "CHANGED: $1"; exit 1; }
# ask VARIABLE=VALUE OPTIONS...: standard output is in out.txt, standard error in err.txt, the exit status in $status.
ask() {
    status=0
    env "$1" timeout 20 root/usr/bin/ucx_info "${@:2}" > out.txt 2> err.txt || status=$?
    echo "--- $*: exit status $status, $(grep -c . out.txt || true) lines, $(grep -c . err.txt || true) on standard error"
    grep -oE "UCX +(WARN|ERROR).*" out.txt || true
}
root/usr/bin/ucx_info -v | head -1 || { echo "cannot run UCX"; exit 2; }
ask UCX_RNDV_THRESH=8k -c
grep -q "^UCX_RNDV_THRESH=8K" out.txt || changed "ucx_info does not print the right value"
ask UCX_TLS=tcp,rc -e -u t
[ "$status" = 0 ] || { cat out.txt err.txt; echo "cannot make an endpoint"; exit 2; }
! grep -q "'rc' is not available" err.txt || changed "the warning is on standard error"
grep -q "'rc' is not available" out.txt || changed "there is no warning"
ask UCX_RNDV_THRESH=8q -e -u t
[ "$status" != 0 ] || changed "the wrong value makes an endpoint"
grep -q "Invalid value for RNDV_THRESH" out.txt || changed "the error is not on standard output"
ask UCX_RNDV_THRESH=8q -c
[ "$status" = 0 ] && [ ! -s err.txt ] || changed "ucx_info -c fails"
! grep -q "^UCX_RNDV_THRESH" out.txt || changed "ucx_info -c prints the parameter"
echo "as described"
