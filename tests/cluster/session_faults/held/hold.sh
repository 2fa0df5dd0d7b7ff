# SPDX-License-Identifier: BSD-3-Clause
# hold.sh FOLDER NAME COMMAND...: note the start of this rank, wait as long as FOLDER/NAME is there, then be the command;
# or, if there is a file FOLDER/NAME.txt, print it in its place, that of the
# session (FOLDER/NAME.txt.SESSION) first.
folder=$1 name=$2
shift 2
rank=${SLURM_PROCID:-$PMI_RANK}
touch "$folder/$name.started.$rank"
# Rank 1 does not end when it is told to, so that its node is not done with the job as soon as the other.
[ "$rank" = 0 ] || trap '' TERM
while [ -e "$folder/$name" ]; do sleep 0.2; done
trap - TERM
text=$folder/$name.txt
[ -e "$text" ] || exec "$@"
[ ! -e "$text.$FABRIC_SESSION" ] || text=$text.$FABRIC_SESSION
[ "$rank" != 0 ] || cat "$text"
