# SPDX-License-Identifier: BSD-3-Clause
"""The library behind the checks, in rooms. Each imports only those above it; pyproject.toml enforces this.

==============  =======================================================================================
leaves          errors, text, metrics, layouts, levels, paths, files, yaml_file, locks, door, reservations,
                rotate_patterns
``parsers``     a benchmark's text to rows
``machine``     what a machine's own tools print about its queues, jobs, nodes and modules
``analysis``    numbers to values: curves, ppn, placement, statistics
``profiling``   what a program asks of MPI: profiles and traces
``ports``       what ports and hosts counted around a job, and which differ from the others
``fabric_map``  which host is at which switch, and the paths between
``software``    what environments offer and where it comes from: wheels, modules, Spack
``culprits``    which node, cable or switch is slow: bandwidth and latency of all pairs
``results``     the record and its writer; names of sessions
``store``       records of many runs, read wherever they are; archives, files of bundles
``runs``        the outcome of a run: its cases and their values
``cost``        what runs cost: measured, remembered, computed before
``references``  the file, line rates, look-up, proposals, audit
``reframe_ext`` our part of what ReFrame runs; its private names are used only in ``internals.py``
``schedulers``  schedulers and launchers for ReFrame
``comparison``  sets of results, changes, series over time
``pictures``    curves, matrices, profiles and series as files
``terminal``    what commands print
``report``      the HTML report
``nightly``     a night, its memory, pipelines
``vetting``     a verdict on every node, within a budget
``bundles``     what buyer and vendors exchange, checked; offers ranked
``site``        a look at a machine, and the files that a site needs
``cli``         the command, one module for each verb
==============  =======================================================================================

Simulated platforms are a package of their own, ``fabric_twins``, which nothing here imports.
"""

__version__ = "0.1.0"
