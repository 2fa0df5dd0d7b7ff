#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The interfaces that Open MPI 6.0.0rc2 of Debian (its next release) takes for TCP. As root, with debootstrap.
# Expected: all but the loopback interface, as of every other build. Seen: only lo, by a line of the package's own
# /etc/openmpi/openmpi-mca-params.conf, so that no two hosts reach each other; it says so by "BTLs attempted: self tcp".
set -euo pipefail
[ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null || { echo "this needs root and debootstrap"; exit 2; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# The script of sid installs any release; packages are left to the release's own apt.
{
    debootstrap --variant=minbase --include=ca-certificates forky "$folder" \
        "${FABRIC_MIRROR:-http://deb.debian.org/debian}" /usr/share/debootstrap/scripts/sid &&
        cp -L /etc/resolv.conf /etc/hosts "$folder/etc/" &&
        chroot "$folder" sh -c 'apt-get -o Acquire::Check-Valid-Until=false update &&
            DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends openmpi-bin iproute2'
} >"$folder.log" 2>&1 || { tail -3 "$folder.log"; rm -f "$folder.log"; echo "cannot install Open MPI"; exit 2; }
rm -f "$folder.log"
changed() { echo "CHANGED: $1"; exit 1; }
# UCX complains on standard output, for this root has no /proc.
chroot "$folder" ompi_info --version | grep -m1 "^Open MPI"
seen=$(chroot "$folder" ompi_info --param btl tcp --level 9 --parsable | grep -E 'param:btl_tcp_if_include:(value|source)')
echo "$seen"
grep -q ':value:lo$' <<<"$seen" || changed "btl_tcp_if_include is not lo"
grep -q 'openmpi-mca-params.conf' <<<"$seen" || changed "it is not set by the package's file"
