# SPDX-License-Identifier: BSD-3-Clause
"""What MPP-DYNA prints, made up: nobody here has its binary.

The lines have the form of a run of LS-DYNA R7.0 for shared memory that was published whole (CSDN, 18 Nov
2015, a task of HTCondor's), and of what public readers of MPP-DYNA's files look for. The figures mean
nothing.
"""

ROWS = {
    "Keyword Processing": (0.5, ["KW Reading", "KW Writing"]),
    "Initialization": (1.25, ["Init Proc Phase 1"]),
    "Element processing": (60.0, ["Shells", "Solids"]),
    "Binary databases": (0.75, []),
    "Contact algorithm": (30.0, ["Interf. ID         1"]),
    "Rigid Bodies": (2.5, []),
    "Other": (5.0, []),
}


def _row(name, seconds, total, indent):
    """Return a row; a name that is as long as its column has no dots."""
    head = f"{' ' * indent}{name} {'.' * (23 - len(name) - indent)}"
    return (
        f"{head:<24.24} {seconds:10.4E} {100 * seconds / total:7.2f} {seconds:14.4E}"
        f" {100 * seconds / total:7.2f}"
    )


def output(processes, *, elapsed_s=101, cycles=20000, rows=ROWS):
    """Return the output of a run."""
    total = sum(seconds for seconds, _ in rows.values())
    table = []
    for name, (seconds, below) in rows.items():
        table += [
            _row(name, seconds, total, 2),
            *(_row(each, seconds / 2, total, 4) for each in below),
        ]
    return "\n".join(
        [
            "     |  Version : mpp d R13                              |",
            "     |  Revision: R13.1.1                                |",
            f" MPP execution with {processes:7d} procs",
            "       1 t 0.0000E+00 dt 1.51E-06 flush i/o buffers            01/01/20 10:00:00",
            "   20000 t 3.0000E-02 dt 1.51E-06 write d3plot file            01/01/20 10:01:40",
            " ",
            " *** termination time reached ***",
            " N o r m a l    t e r m i n a t i o n                          01/01/20 10:01:41",
            " T i m i n g   i n f o r m a t i o n",
            "                        CPU(seconds)   %CPU  Clock(seconds) %Clock",
            "  ----------------------------------------------------------------",
            *table,
            "  ----------------------------------------------------------------",
            f"  T o t a l s            {total:10.4E}  100.00     {total:10.4E}  100.00",
            " Problem time       =    3.0000E-02",
            f" Problem cycle      = {cycles:9d}",
            f" Elapsed time {elapsed_s:7d} seconds(   0 hours  1 min. 41 sec.) for {cycles:7d} cycles",
            " N o r m a l    t e r m i n a t i o n",
            "",
        ]
    )
