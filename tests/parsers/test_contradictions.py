# SPDX-License-Identifier: BSD-3-Clause
"""What an output betrays of itself: a damage that leaves it well formed, and the relation that it breaks."""

import re

import pytest

from fabric_checks.core.errors import OutputError
from tests.parsers import corpus

#: For each output, by parser and name, its damages as pattern and replacement, each with the message.
CONTRADICTIONS = {
    ("buffer_reuse", "buffer_reuse"): [
        (r"((?: latency_\S+){5})((?: stream_\S+){5})", r"\2\1", "the table has 'stream_us' where 'latency_us' was"),
        ("68 ci", "16800 ci", "16800 samples of latency_us take longer than"),
    ],
    ("hot_spot", "mpich-5.0.2"): [
        ("2.78045 2.90385 129 ci", "2.78045 29.0385 129 ci", "129 samples with an interval within 928.858 % of it"),
        ("2.90615 6.37016", "-0 6.37016", "'-0' is not a number of six digits"),
        ("min-size 8 ", "min-size 8000 ", "ask for sizes from 8000 to 65536 B, but the rows have 8 to 32768 B"),
        ("min-size 8 ", "min-size 1 ", "ask for sizes from 1 to 65536 B, but"),
        ("max-size 65536", "max-size 655360", "ask for sizes from 8 to 655360 B, but"),
        ("# rank [01].*\n", "", "does not name the hosts of 2 ranks in order"),
        ("ci-share 0.05", "ci-share", "the header's options are not names and values: 'min-size 8"),
        ("min-samples", "ci-share", "the header's options are not names and values: 'min-size 8"),
        ("warmup 10", "10 warmup", "the header's options are not names and values: 'min-size 8"),
        ("max-size 65536", "max-size 41943.04", "'max-size' was expected, found '41943.04'"),
        ("ci-share 0.05", "ci-share x", "'x' is not a number"),
        (r"(# rank 0.*)\n(# rank 1.*)", r"\2\n\1", "not name the hosts of 2 ranks in order"),
        ("max-seconds-per-point 0.25", "max-seconds-per-point 0", "'max-seconds-per-point' is 0"),
    ],
    ("streaming", "streaming/mpich-5.0.2"): [
        ("window 64", "window 6400000", "samples of streaming_us take longer than"),
    ],
    ("notification", "notification"): [
        (r"0\.470938 0\.467936", "00.470938 0.467936", "'00.470938' is not a number of six"),
    ],
    ("overlap", "overlap"): [
        ("57.1401", "57.1411", "isend at 0 B has an availability of 57.1411 %, but"),
        ("1.45736 9 knee", "0.45736 9 knee", "isend at 0 B stopped with 'knee', which does not fit 0.45736 us of work"),
        ("max-steps 40", "max-steps 8", "irecv at 8 B took 15 steps, but the options allow 8"),
    ],
    ("collective_overlap", "collective_overlap"): [
        ("operation all", "operation xll", "the option 'operation' is 'xll', but the table has iallreduce, ialltoall"),
        ("9 knee 1.91436", "83 knee 1.91436", "ialltoall at 8 B took 83 steps, but the options allow 40"),
    ],
    ("latency_map", "mpich-5.0.2"): [
        ("0.9225 0.85625", "09225 0.85625", "a row of the columns .* expected, found .*09225"),
        (r"\n# complete:.*", r"\g<0>\g<0>", "several lines '# complete: ...'"),
    ],
    ("placement", "placement"): [
        ("0 0-1 0:0", "0 0-4 0:0", "CPUs '0-4' are not all in service: '0-3,8'"),
        ("0 0-1 0:0,0:1", "0 0 0:0,0:1", "'0:0,0:1' are not the cores, in order, of 1 CPUs"),
        ("4 4-5,7", "6 4-5,7", "the rank ran on CPU 6, which is none of its own: '4-5,7'"),
        ("4 4-5,7", "x 4-5,7", "the number of a CPU was expected, found 'x'"),
        ("4-5,7", "4-5,5", "a list of CPUs in order was expected, found '4-5,5'"),
        ("1:2,1:3", "1:3,1:2", "'1:3,1:2' are not the cores, in order, of 3 CPUs"),
        ("hostb", "host\x07b", r"'\\x07' is no character of this program"),
        ("hostb", "host\u2028b", "is no character of this program"),
        ("2 hostb n3 4 4-5,7 1:2,1:3 0-7", "2 hosta n3 4 4-5,7 1:2,1:3 0-7", "'hosta' has other CPUs in service"),
        ("n3", "1:2,1:3", "the name of a node was expected, found '1:2,1:3'"),
        ("rank host node", "rank node host", "the table has 'node' where 'host' was expected"),
    ],
    ("imb", "imb/2021.11/PingPong-2-None"): [
        ("(131072 +)320", r"\g<1>640", "640 repetitions at 131072 B are more than"),
    ],
    ("imb", "imb/2021.11/Sendrecv.4-2-None"): [
        ("( 32 +)20 ", r"\g<1>21 ", "21 repetitions at 32 B are more than at smaller"),
    ],
    ("imb", "imb/2021.11/Unidir_put-2-NON-AGGREGATE"): [
        ("( 8 +)100 ", r"\g<1>500 ", "500 repetitions at 8 B"),
    ],
    ("imb", "imb/2021.11/P2P.PingPong-2-None"): [
        ("(32768 +)25600", r"\g<1>35600", "35600 repetitions at 32768 B"),
    ],
    ("osu", "osu/7.4/osu_iallreduce.full"): [
        ("8192  ( +)23.35", r"8192  \g<1>92.35", "take 23.18 us at 8192 B, but all of it 92.35 us"),
        ("8192  ( +)23.35", r"8192  \g<1>22.35", "take 23.18 us at 8192 B, but all of it"),
    ],
    ("osu", "osu/7.4/osu_bw"): [
        ("(# Size +Bandwidth .*)", r"\1\n\1 Validation", "a second line of other titles"),
    ],
    ("start-up", "osu/7.4/osu_init"): [
        ("avg: 18", "avg: 17", "not positive and in order"),
        ("max: 18 ms, avg: 18", "max: 33 ms, avg: 32", "32 is not the mean of 2 times of MPI_Init"),
        ("max: 18 ms, avg: 18", "max: 256 ms, avg: 25", "25 is not the mean of 2 times of MPI_Init"),
    ],
    ("start-up", "osu/7.4/osu_hello"): [
        ("123456789", "1234\n56789", "no line 'launch_to_end_ns: N'"),
    ],
    ("npb", "npb/3.4/is.A.2"): [
        ("Iterations: +10", "Iterations:   11", "the output begins with '11' where its report has '10'"),
        ("^ +7$", "        9", "the 10 lines of iterations are not those of 10, in order"),
        (r"194\.86", "194.89", "194.89 Mop/s do not fit 97.43 on each of 2 processes"),
        (r"194\.86", "194.86" + "1" * 5000, "Mop/s total is '194.8.*, not a number with two decimals"),
        ("Version( +)= ( +)3.4", "Version = \x1b" + "4" * 5000, r"and '\\x1b4.*' ended it"),
    ],
    ("npb", "npb/3.4/ft.A.2"): [
        ("processes :( +)2", r"processes :\g<1>4", "begins with '4' where its report has '2'"),
    ],
    ("lammps", "lammps/22Jul2025/lj.2"): [
        ("1 by 1 by 2", "1 by 1 by 4", "grid, MPI tasks or histograms are those of 4 processes"),
        ("Created 32000", "Created 64000", "the loop was over 32000 atoms, but 64000 are there"),
        ("Nlocal: .*", "Nlocal: 32000 ave 32001 max 31999 min", "the loop was over 32000 atoms, but 64000 are there"),
        ("16001 max", "16009 max", "16000 is not the mean of 2 numbers of Nlocal from 15999 to 16009"),
        ("with 2 MPI tasks", "with 4 MPI tasks", "grid, MPI tasks or histograms are those of 4 processes"),
        (r"34308\.534", "34308.934", "34308.9 tau/day do not fit the loop time"),
        ("Unit style( +): lj", r"Unit style\1: metal", "tau/day is no rate with units metal"),
        (r"(Pair .* )0\.9948 ", r"\g<1>0.9958 ", "0.9958 is not the mean of 2 times of 'Pair'"),
        (r"Output  \|.*\n", r"\g<0>\g<0>", "the sections of the breakdown are 'Pair Neigh Comm Output Modify Other'"),
        (r"Modify  \|.*\n", "", "the sections of the breakdown are 'Pair Neigh Comm Output Other'"),
        (r"(Neigh .*\n)(Comm .*\n)", r"\2\1", "the sections of the breakdown are 'Pair Comm Neigh"),
        (r"0\.005961 ( .*) 0\.47", r"0.006961 \1 0.55", r"make the loop time, but 1\.2601\d+ is not"),
        (r"Output  \|", "Out put |", "a section of the breakdown was expected, found 'Out put"),
        (r"79\.01", "79.011", "does not have two decimals"),
        (r"min time  \|  avg time", "avg time  |  min time", "no line 'Section . min time . avg time"),
        ("Total wall time: 0:00:01", "Total wall time: 0:00:00", "the loop took 1.25916 s, but 'Total wall time"),
        (r" +0   1\.44 .*\n", "", "the thermodynamic output is not of steps from 0 on, in order"),
        (r"0\.7574531", "0.7575531", "the kinetic energy is not in proportion to Temp"),
        (r"1\.44 ", "1.45 ", "the kinetic energy is not in proportion to Temp"),
        ("Temp( +)E_pair", r"E_pair\1Temp", "Temp is -6.7733681, below zero"),
        (r"  Time step .*\n", r"\g<0>\g<0>", "the lines 'Setting up ...' are there twice"),
    ],
    ("lammps", "lammps/22Jul2025/eam.2"): [
        (r"13\.121 ns", "13.221 ns", "13.221 ns/day do not fit the loop time"),
        (r"\n +50 .*", "\n        50   781", "a thermo row of 6 columns was expected"),
        ("E_pair( +E_mol +)TotEng", r"TotEng\1E_pair", "the kinetic energy is not in proportion to Temp"),
        (r"781\.69049", "781.79049", "line 30: the kinetic energy is not in proportion to Temp"),
    ],
    ("lammps", "lammps/22Jul2025/rhodo.2"): [
        (r"23\.353 hours", "23.453 hours", "23.453 hours/ns do not fit the loop time"),
        (r"21501\.0009", "21501.1009", "KinEng . PotEng make TotEng, but -25329.9307 is not -25330.0307"),
        (r"2637|2471\.7035", "2571.7035", "E_bond .* make PotEng, but"),
        (r"301\.0906", "301.1906", "the kinetic energy is not in proportion to Temp"),
        (r"KinEng   =     21501\.0009", "KinEng   =     21 501.0009", "items 'name = value' were expected"),
    ],
    ("lammps", "lammps/22Jul2025/chute.2"): [
        (r"(\n +0 +)32000", r"\g<1>3200", "3200 atoms were there, but the loop was over 32000"),
        (r"784292\.08", "-784292.08", "KinEng is -784292.08, below zero"),
        ("^(Performance: .*) tau", r"\1 tan", "the line of the performance is damaged: .*tan/day"),
    ],
    ("ls_dyna", "made up"): [
        (r"1 min\. 41", "1 min. 14", "101 s are not 0 hours 1 min. 14 sec."),
        (r"101 seconds\( +0 hours +1 min. 41", "91 seconds(   0 hours  1 min. 31", "take 100 s, but 91 s elapsed"),
        (r"CPU\(seconds\) +%CPU +Clock", "Clock(seconds)   %CPU  CPU", "the titles of the table of times"),
        (r"2\.5000E\+00(    2\.50 +2\.5)", r"2.4900E+00\1", "the table's parts make its total, but 99.99 is not 100"),
        (r"2\.50 +2\.5000E\+00", "2.50     2.5400E+00", "is below zero, or its shares are not those of its times"),
        (r"(  Element proc.*)\n(    Shells.*)", r"\2\n\1", "rows below 'Initialization' take 30.625 s"),
        ("Contact algorithm", "\x0contact algorithm", "a row of the table of times was expected, found"),
        ("Contact algorithm", "Contact alorithm", "a row of the table of times is not below the others"),
        ("( +Rigid Bod)(.*)", r"\1\n\2", "a row of the table of times is not below the others"),
        (r"2\.5000E\+00 +2\.50 ", "2.5000E+00    2.5o ", "a row of the table of times was expected, found"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("output", "old", "new", "message"), [(output, *row) for output, rows in CONTRADICTIONS.items() for row in rows]
)
def test_an_output_that_contradicts_itself_is_refused(output, old, new, message):
    parser, name = output
    whole = next(whole for whole in corpus.OUTPUTS[parser]() if whole.name == name)
    assert whole.parse(whole.text)
    broken = re.sub(old, new, whole.text, count=1, flags=re.MULTILINE)
    assert broken != whole.text
    with pytest.raises(OutputError, match=message) as caught:
        whole.parse(broken)
    assert str(caught.value).isprintable() and len(str(caught.value)) < 500
