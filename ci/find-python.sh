# SPDX-License-Identifier: BSD-3-Clause
# Sourced: sets FABRIC_PYTHON to a Python 3.10 to 3.14, or says what is missing and returns 1.

fabric_find_python() {
    local candidate
    for candidate in ${FABRIC_PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 python3.10}; do
        if "$candidate" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info < (3, 15))' 2>/dev/null; then
            FABRIC_PYTHON=$candidate
            return 0
        fi
    done
    echo "error: no Python 3.10 to 3.14 (tried: ${FABRIC_PYTHON:-python3, python3.10 to python3.14}); install one, or name it in FABRIC_PYTHON" >&2
    return 1
}
fabric_find_python
