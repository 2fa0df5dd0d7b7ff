# SPDX-License-Identifier: BSD-3-Clause
# Source this: unpacks SimGrid of Debian 12 in a temporary folder, and enters it. smpicc and smpirun are those of that folder.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download libsimgrid-dev=3.32-2+b2 libsimgrid3.32=3.32-2+b2 libboost-context1.74.0 libboost-stacktrace1.74.0 \
    libgfortran5 libns3.37 2>/dev/null || { echo "cannot download the packages"; exit 2; }
for package in *.deb; do dpkg -x "$package" root; done
for script in smpicc smpirun; do sed -i "s|/usr/lib/|$folder/root/usr/lib/|g; s|/usr/include|$folder/root/usr/include|g" "root/usr/bin/$script"; done
export LD_LIBRARY_PATH=$folder/root/usr/lib/x86_64-linux-gnu PATH=$folder/root/usr/bin:$PATH

# Fail: what this script states is no longer so.
changed() { echo "CHANGED: $1"; exit 1; }
