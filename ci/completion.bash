# SPDX-License-Identifier: BSD-3-Clause
# Completion in bash of fabric-checks, ci/run and ci/nightly, to be sourced after ci/env.sh: . ci/completion.bash

eval "$(_FABRIC_CHECKS_COMPLETE=bash_source fabric-checks)"

# Set `root` to the clone of a command that was typed with its path.
_fabric_clone() {
    root=$(cd "$(dirname "${1/#\~/$HOME}")/.." 2>/dev/null && pwd) && [ -e "$root/ci/completion.bash" ]
}

# Options, systems, levels and checks of the clone whose ci/run was typed: from its files, as asking its program takes
# half a second a key.
_fabric_ci_run() {
    local word=${COMP_WORDS[COMP_CWORD]} root values
    COMPREPLY=()
    _fabric_clone "${COMP_WORDS[0]}" || return
    case ${COMP_WORDS[COMP_CWORD - 1]} in
    --system) values=$(cd "$root/config" && printf '%s\n' systems/[!_]*.py twins/*.yaml | sed 's/.*\/\(.*\)\..*/\1/') ;;
    --mode) values="smoke nightly acceptance procurement vet" ;;
    --stack) values="wheels spack modules" ;;
    --mpi) values="mpich openmpi impi all none" ;;
    --beside) values="within between" ;;
    -n | --name | -x | --exclude) values=$(sed -n '/^@/,/^class/s/^class \([A-Z]\w*\).*/\1/p' "$root"/checks/*/*.py) ;;
    *) values="$("$root/ci/run" --help | grep -oE -- '--[a-z-]+' | sort -u) --system --mode --tag -n -l" ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
}

# The options of its verb, and the script's own.
_fabric_ci_nightly() {
    local word=${COMP_WORDS[COMP_CWORD]} root
    COMPREPLY=()
    _fabric_clone "${COMP_WORDS[0]}" || return
    COMP_WORDS=(fabric-checks nightly "${COMP_WORDS[@]:1}")
    COMP_CWORD=$((COMP_CWORD + 1))
    _fabric_checks_completion fabric-checks
    [[ $word != -* ]] || mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "--mpi --stack --mirror --reservation --one-job" -- "$word")
}

# With a path that is not the one named here, bash looks for the last part of it.
complete -o default -F _fabric_ci_run ci/run run
complete -o default -F _fabric_ci_nightly ci/nightly nightly
