# SPDX-License-Identifier: BSD-3-Clause
# Completion in bash of fabric-checks and ci/run, to be sourced after ci/env.sh: . ci/completion.bash

eval "$(_FABRIC_CHECKS_COMPLETE=bash_source fabric-checks)"

# Options, systems, levels and checks, of the clone that is worked in.
_fabric_ci_run() {
    local word=${COMP_WORDS[COMP_CWORD]} values
    case ${COMP_WORDS[COMP_CWORD - 1]} in
    --system) values=$(cd config/systems && ls -- [!_]*.py | sed 's/\.py$//') ;;
    --mode) values="smoke nightly acceptance procurement" ;;
    --stack) values="wheels spack modules" ;;
    -n | --name | -x | --exclude) values=$(sed -n '/^@/,/^class/s/^class \([A-Z]\w*\).*/\1/p' checks/*/*.py) ;;
    *) values="$(ci/run --help | grep -oE -- '--[a-z-]+' | sort -u) --system --mode --tag -n -l" ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
}
complete -F _fabric_ci_run ci/run
