#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# ibstat of infiniband-diags 44 on a host without any adapter, as after a firmware that failed or a driver that is not loaded.
# Expected: an error and a status other than 0, as of ibstatus and ibv_devinfo. Seen: nothing printed, exit status 0, as well
# of `ibstat -l` and `ibstat -p`: a health check that asks ibstat passes, and one that greps for "Down" finds none.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
[ -z "$(ls /sys/class/infiniband 2>/dev/null)" ] || { echo "this host has an adapter"; exit 2; }
apt-get -qq download infiniband-diags=44.0-2 libibnetdisc5=44.0-2 libibmad5=44.0-2 libibumad3=44.0-2 ibverbs-utils=44.0-2 \
    libibverbs1=44.0-2 libnl-3-200 libnl-route-3-200 2>/dev/null || { echo "cannot download the packages"; exit 2; }
for package in *.deb; do dpkg -x "$package" root; done
export LD_LIBRARY_PATH=$folder/root/usr/lib/x86_64-linux-gnu:$folder/root/lib/x86_64-linux-gnu
changed() { echo "CHANGED: $1"; exit 1; }
# Run a tool, and keep what it prints in the file "printed".
try() {
    local tool=$1
    shift
    status=0
    timeout 20 "root/usr/$tool" "$@" > printed 2>&1 || status=$?
    echo "${tool#*/} $*: status $status, $(wc -l < printed) line(s) $(tail -1 printed)"
}
try sbin/ibstat -V
for options in "" -l -p; do
    # shellcheck disable=SC2086  # no word for no option
    try sbin/ibstat $options
    [ "$status" -eq 0 ] || changed "ibstat $options ends with $status"
    [ ! -s printed ] || changed "ibstat $options prints something"
done
try sbin/ibstatus
[ "$status" -ne 0 ] || changed "ibstatus ends with 0"
try bin/ibv_devinfo
[ "$status" -ne 0 ] || changed "ibv_devinfo ends with 0"
echo "as described"
