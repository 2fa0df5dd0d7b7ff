# SPDX-License-Identifier: BSD-3-Clause
"""What an output betrays of itself: a damage that leaves it well formed, and the relation that it breaks."""

import re

import pytest

from tests.breakages import refused
from tests.parsers import corpus

#: For each output, by parser and name, its damages as pattern and replacement, each with the message.
CONTRADICTIONS = {
    ("imb", "imb/2021.11/PingPong-2-None"): [
        ("(131072 +)320", r"\g<1>0", "nothing was repeated"),
    ],
    ("imb", "imb/2021.11/Allreduce-2-None"): [
        (r"(  64 +\d+ +)\S+", r"\g<1>99.00", r"\S+ is not the mean of 2 times from 99"),
    ],
    ("imb", "imb/2021.11/One_put_all.1MiB-2-None"): [
        (r"(  1024 +\d+ +\S+ +)\S+", r"\g<1>9999.99", "MB/s do not fit 1024 B in .* us at 1024 B"),
    ],
    ("imb", "imb/2021.11/Iallreduce-2-None"): [
        (r"(  64 .* )\S+$", r"\g<1>77.00", "an overlap of 77 % does not fit the times at 64 B"),
    ],
    ("imb", "imb/2021.11/Uniband-2-None"): [
        (r"(  64 .* )(\d+)$", r"\1\2.00", "a whole number was expected"),
    ],
    ("osu", "osu/7.4/osu_iallreduce.full"): [
        ("8192  ( +)23.35", r"8192  \g<1>92.35", "take 23.18 us at 8192 B, all of it 92.35 us"),
        ("8192  ( +)23.35", r"8192  \g<1>22.35", "take 23.18 us at 8192 B, all of it"),
    ],
    ("start-up", "osu/7.4/osu_init"): [
        ("avg: 18", "avg: 17", "17 is not the mean of 2 times of MPI_Init"),
        ("max: 18 ms, avg: 18", "max: 33 ms, avg: 32", "32 is not the mean of 2 times of MPI_Init"),
        ("max: 18 ms, avg: 18", "max: 256 ms, avg: 25", "25 is not the mean of 2 times of MPI_Init"),
    ],
    ("start-up", "osu/7.4/osu_hello"): [
        ("123456789", "1234\n56789", "no whole result of the program"),
    ],
    ("npb", "npb/3.4/is.A.2"): [
        ("Iterations: +10", "Iterations:   11", "the output begins with '11' where its report has '10'"),
        ("^ +7$", "        9", "the 10 lines of iterations are not those of 10, in order"),
        (r"194\.86", "194.89", "194.89 Mop/s do not fit 97.43 on each of 2 processes"),
        (r"194\.86", "194.86" + "1" * 5000, "'194.8.*' does not have two decimals"),
        ("Version( +)= ( +)3.4", "Version = \x1b" + "4" * 5000, r"and '\\x1b4.*' ended it"),
    ],
    ("npb", "npb/3.4/ft.A.2"): [
        ("processes :( +)2", r"processes :\g<1>4", "begins with '4' where its report has '2'"),
    ],
    ("lammps", "lammps/22Jul2025/lj.2"): [
        ("1 by 1 by 2", "1 by 1 by 4", "grid, MPI tasks or histograms are those of 4 processes"),
        ("Created 32000", "Created 64000", "the loop was over 32000 atoms, but 64000 to 64000 are there"),
        ("Nlocal: .*", "Nlocal: 32000 ave 32001 max 31999 min",
         "the loop was over 32000 atoms, but 64000 to 64000 are there"),
        ("with 2 MPI tasks", "with 4 MPI tasks", "grid, MPI tasks or histograms are those of 4 processes"),
        (r"34308\.534", "34308.934", "34308.9 tau/day do not fit the loop time"),
        ("Unit style( +): lj", r"Unit style\1: metal", "are not the rates with units 'metal'"),
        (r"Output  \|.*\n", r"\g<0>\g<0>",
         "the sections of the breakdown are 'Pair Neigh Comm Output Output M"),
        (r"Modify  \|.*\n", "", "the sections of the breakdown are 'Pair Neigh Comm Output Other'"),
        (r"(Neigh .*\n)(Comm .*\n)", r"\2\1", "the sections of the breakdown are 'Pair Comm Neigh"),
        (r"0\.005961 ( .*) 0\.47", r"0.006961 \1 0.55", "the sections of the breakdown do not make"),
        (r"Output  \|", "Out put |", "the sections of the breakdown are 'Pair Neigh Comm Modify Other'"),
        (r"79\.01", "79.011", "does not have two decimals"),
        (r"min time  \|  avg time", "avg time  |  min time", "no breakdown 'Section . min time . avg time"),
        ("Total wall time: 0:00:01", "Total wall time: 0:00:00",
         "the loop took 1.25916 s, but the total wall time is 0 s"),
        (r" +0   1\.44 .*\n", "", "the thermodynamic output is not of steps from 0 to 100, in order"),
        (r"  Time step .*\n", r"\g<0>\g<0>", "the lines 'Setting up ...' are there twice"),
    ],
    ("lammps", "lammps/22Jul2025/eam.2"): [
        (r"13\.121 ns", "13.221 ns", "13.221 ns/day do not fit the loop time"),
        (r"\n +50 .*", "\n        50   781", "a thermo row of 6 columns was expected"),
    ],
    ("lammps", "lammps/22Jul2025/rhodo.2"): [
        (r"23\.353 hours", "23.453 hours", "23.453 hours/ns do not fit the loop time"),
        (r"KinEng   =     21501\.0009", "KinEng   =     21 501.0009", "a thermodynamic output is damaged"),
    ],
    ("lammps", "lammps/22Jul2025/chute.2"): [
        (r"(\n +0 +)32000", r"\g<1>3200", "'3200' atoms were there, but the loop was over 32000"),
        ("^(Performance: .*) tau", r"\1 tan", "tan/day.* are not the rates"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    "output, old, new, message",
    [(output, *row) for output, rows in CONTRADICTIONS.items() for row in rows],
)
def test_an_output_that_contradicts_itself_is_refused(output, old, new, message):
    parser, name = output
    whole = next(whole for whole in corpus.OUTPUTS[parser]() if whole.name == name)
    assert whole.parse(whole.text)
    broken = re.sub(old, new, whole.text, count=1, flags=re.MULTILINE)
    assert broken != whole.text
    with refused(message) as caught:
        whole.parse(broken)
    assert str(caught.value).isprintable() and len(str(caught.value)) < 500
