#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# mpiexec (Hydra) of MPICH 5.0.2 with `-genvnone`, "do not pass any environment variables", or `-genvlist B`, where it runs
# its ranks on its own host. Expected: the ranks have no variable A. Seen: they have all variables, for they inherit them;
# the options have no effect, and nothing says so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install "mpich==5.0.2" >&2 || { echo "cannot install MPICH"; exit 2; }
changed() { echo "CHANGED: $1"; exit 1; }
venv/bin/mpiexec --version | grep Version
venv/bin/mpiexec --help 2>&1 | grep -E -- "-genv(list|none)" | tee help.txt
grep -q "none.*do not pass" help.txt || changed "the help no longer has the option"
# passes OPTIONS...: print A and B as a rank has them.
passes() {
    local seen
    seen=$(A=1 B=2 timeout 20 venv/bin/mpiexec "$@" -n 1 sh -c 'echo "A=$A B=$B"' 2> err.txt < /dev/null) || changed "$* fails"
    echo "$*: $seen"
    [ "$seen" = "A=1 B=2" ] && [ ! -s err.txt ] || changed "$* has an effect"
}
passes -genvnone
passes -genvlist B
passes -genvlist NOSUCH
echo "as described"
