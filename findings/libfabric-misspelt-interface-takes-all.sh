#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# libfabric 1.17.0, provider tcp, with FI_TCP_IFACE=ib9, which does not exist. Expected: an error, as of a misspelt provider, or a
# warning. Seen: all networks of the host are offered, as if nothing had been set, and no line names ib9, not even with
# FI_LOG_LEVEL=warn: an MPI that was to use one network uses another. FI_TCP_IFACE=lo offers lo alone.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download libfabric-bin=1.17.0-3 libfabric1=1.17.0-3 libpsm-infinipath1 libpsm2-2 ibverbs-providers libibverbs1 \
    librdmacm1 libnl-3-200 libnl-route-3-200 libnuma1 2>/dev/null ||
    { echo "cannot download the packages"; exit 2; }
for package in *.deb; do dpkg -x "$package" root; done
ln -s libpsm_infinipath.so.1.16 root/usr/lib/libpsm1/libpsm_infinipath.so.1
export LD_LIBRARY_PATH=$folder/root/usr/lib/x86_64-linux-gnu:$folder/root/lib/x86_64-linux-gnu:$folder/root/usr/lib/libpsm1
changed() { echo "CHANGED: $1"; exit 1; }
unset FI_PROVIDER FI_LOG_LEVEL FI_TCP_IFACE
# Print the networks that are offered; messages end in the file "messages".
domains() { root/usr/bin/fi_info -p tcp 2> messages | sed -n 's/^ *domain: //p' | sort -u | paste -sd' '; }
root/usr/bin/fi_info --version | head -1 || { echo "cannot run fi_info"; exit 2; }
all=$(domains)
[ "$all" != lo ] && [ "$all" != "" ] || { echo "needs a network besides lo"; exit 2; }
echo "not set: $all"
only=$(FI_TCP_IFACE=lo domains)
echo "FI_TCP_IFACE=lo: $only"
[ "$only" = lo ] || changed "with lo it offers $only"
misspelt=$(FI_TCP_IFACE=ib9 FI_LOG_LEVEL=warn domains)
echo "FI_TCP_IFACE=ib9: $misspelt; lines that name it: $(grep -c ib9 messages || true)"
[ "$misspelt" = "$all" ] || changed "with ib9 it offers $misspelt"
! grep -q ib9 messages || changed "a message names it"
root/usr/bin/fi_info -p tpc > /dev/null 2>&1 && changed "a misspelt provider is no error"
echo "as described"
