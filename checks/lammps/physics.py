# SPDX-License-Identifier: BSD-3-Clause
"""The physics of LAMMPS's five inputs: the reference logs', of as many copies of the problem as there are
nodes."""

from fabric_checks import parsers

#: Last thermodynamic output (step 100, 32,000 atoms) of the reference logs that come with the inputs, on one
#: processor: bench/log.15Jul25.*.fixed.g++.1 of LAMMPS 22 Jul 2025, and the relative tolerance. The logs on
#: four processors agree with them to 1e-8, except for chain, whose thermostat draws other random numbers on
#: other numbers of processors: there these columns differ by up to 0.2 %.
REFERENCE = {
    "lj": ({"Temp": 0.7574531, "E_pair": -5.7585055, "TotEng": -4.6223613}, 1e-5),
    "chain": ({"Temp": 0.9729966, "E_mol": 20.507698, "TotEng": 22.40326}, 2e-2),
    "eam": ({"Temp": 801.832, "E_pair": -109957.3, "TotEng": -106640.77}, 1e-5),
    "chute": ({"Atoms": 32000, "KinEng": 784292.08, "c_1": 1571.0968}, 1e-4),
    "rhodo": ({"TotEng": -25290.7364, "PotEng": -46882.6454, "Temp": 301.0906}, 1e-5),
}
#: The items that LAMMPS prints for the whole problem and not per atom.
EXTENSIVE = {
    "eam": ("E_pair", "TotEng"),
    "chute": ("Atoms", "KinEng", "c_1"),
    "rhodo": ("TotEng", "PotEng"),
}
#: The machine of the reference logs. Another one rounds otherwise, as with fused multiply-add; velocities are
#: drawn by rounded coordinates (LAMMPS's manual: velocity, loop geom), so it starts with others. On aarch64
#: the temperature of lj differs by 0.5 %, its energy by 1e-5.
MACHINE = "x86_64"
#: Scaled problems start with other velocities, or go other ways from the first rounding on: at 64,000 atoms
#: temperatures of lj, eam and rhodo differ by up to 0.3 %, energies of an atom by up to 1e-4. chute repeats
#: exactly.
SCALED_TOLERANCE = {
    "lj": 2e-2,
    "chain": 2e-2,
    "eam": 2e-2,
    "chute": 1e-4,
    "rhodo": 1e-2,
}
#: Of a problem without a thermostat: its energy at the start (the same logs), and by how much the change from
#: there to the end may differ, of an atom. At 64,000 atoms it differs by 0.02 % (lj), 0.07 % (eam) and 1.7 %
#: (rhodo).
DRIFT = {
    "lj": ("TotEng", -4.6134356, 0.1),
    "eam": ("TotEng", -106662.09, 0.1),
    "chute": ("KinEng", 784139.13, 0.01),
    "rhodo": ("TotEng", -25356.2057, 0.25),
}


def require(
    output: parsers.lammps.LammpsOutput,
    problem: str,
    copies: int | None,
    machine: str = MACHINE,
) -> None:
    """Raise :class:`OutputError` unless the physics is that of the reference log.

    :param copies: of a problem that was scaled, how many times as large it is; None of one that was not.
    :param machine: the architecture, as ``uname -m`` prints it.
    """
    expected, tolerance = REFERENCE[problem]
    if copies is None and machine == MACHINE:
        parsers.lammps.require_thermo(output, expected, tolerance)
        return
    of = f"in {copies} times the reference log" if copies else "in the reference log"
    copies = copies or 1
    times = {
        name: copies if name in EXTENSIVE.get(problem, ()) else 1 for name in expected
    }
    parsers.lammps.require_thermo(
        output,
        {name: times[name] * value for name, value in expected.items()},
        SCALED_TOLERANCE[problem],
        of,
    )
    if problem in DRIFT:
        name, start, allowed = DRIFT[problem]
        change = {name: times[name] * (expected[name] - start)}
        parsers.lammps.require_thermo(output, change, allowed, of, drift=True)
