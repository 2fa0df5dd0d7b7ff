# SPDX-License-Identifier: BSD-3-Clause
#
#   sh build.sh KEPT CC [MORE]    build all programs in this folder with CC, and MORE targets of the Makefile, or take
#                                 those that were built of the same before
#
# KEPT keeps what was built, in a folder for each state of sources, Makefile, compiler wrapper, compiler and flags. What
# is kept is used only if its programs are as they were left, and load the very MPI library that they were built with: a
# library that was changed in place builds anew, too.
set -eu
kept=$1 cc=$2
wrapper=$(command -v "$cc") || { echo "error: there is no $cc; see cc and PATH of the environment" >&2; exit 127; }
programs="$(sed -n 's/^PROGRAMS = //p' Makefile) ${3-}"

state() {
    find . -type f \( -name '*.[ch]' -o -name Makefile -o -name build.sh \) -exec sha256sum {} + | sort
    sha256sum < "$wrapper"
    printf '%s\n' "$cc" "$programs" "${CPPFLAGS-}" "${CFLAGS-}" "${LDFLAGS-}" "${LDLIBS-}" "${CPATH-}" "${LIBRARY_PATH-}"
    "$cc" --version
    "$cc" -show 2>&1 || true # what it adds to the compiler's command line, if it tells
}

# What the programs of a folder are, and which MPI library (or which simulator's) they load here.
manifest() {
    (
        cd "$1"
        # The names of the programs are words.
        # shellcheck disable=SC2086
        sha256sum $programs
        ldd placement | awk '/mpi|simgrid/ { print $3 }' | sort -u | xargs -r sha256sum
    )
}

folder=$kept/$(state | sha256sum | cut -c1-64)
unchanged() {
    [ -e "$folder/MANIFEST" ] && [ "$(manifest "$folder" 2>&1)" = "$(cat "$folder/MANIFEST")" ]
}

# Beside it first, under a name of its own: another session may be building the same, and process numbers repeat from
# host to host and from container to container.
keep() {
    mkdir -p "$kept" &&
        new=$(mktemp -d "$kept/.new-XXXXXXXXXX") &&
        chmod =rwx "$new" && # as the umask has it; mktemp lets nobody else in
        # shellcheck disable=SC2086
        cp $programs "$new" &&
        manifest "$new" > "$new/MANIFEST" || return
    if unchanged; then # another session was first
        rm -rf "$new"
    else
        rm -rf "$folder" && mv -T "$new" "$folder"
    fi
}

if unchanged; then
    echo "built before, and unchanged: $folder"
    cat "$folder/MANIFEST"
    for program in $programs; do
        cp "$folder/$program" .
    done
    exit
fi

# A program that this MPI cannot build stops no other; whoever needs it finds that it is missing. -O: what the compiler
# prints of one program stands together, before make's line with its name.
# shellcheck disable=SC2086
if ! make -k -O -j "$(nproc)" CC="$cc" $programs; then
    echo "warning: not every program was built; those that were are not kept" >&2
    exit
fi
manifest .
new=
if ! keep; then
    echo "warning: cannot keep what was built; it is built anew each time" >&2
    rm -rf "$new"
fi
