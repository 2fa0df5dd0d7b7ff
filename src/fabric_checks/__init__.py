# SPDX-License-Identifier: BSD-3-Clause
"""The library behind the checks, in rooms. Each imports only those above it; pyproject.toml enforces this.

===============  ======================================================================================
``core``         console, text, files, locks, paths, YAML, layouts, levels, metrics, errors, plugins
``parsers``      a program's text to rows
``analysis``     numbers to values: curves, ppn, placement, statistics
``ports``        what ports and hosts counted around a job, and which differ from the others
``software``     where programs come from: wheels, modules, Spack
``fabric_map``   hosts, adapters, switches, cables and routes, as the tools of fabrics print them
``diagnosis``    which node, cable or switch is slow: bandwidth and latency of all pairs
``matrices``     matrices of pairs of other programs: read, joined over files, and what to measure again
``records``      the record, its writer and readers, sessions, durations and cost of cases
``references``   the file, line rates, look-up, proposals, audit
``reframe_ext``  what ReFrame runs of ours; its private names are used only in ``internals.py``
``schedulers``   Slurm, PBS, Flux and LSF: their queues, jobs, reservations, and schedulers for ReFrame
``comparison``   sets of results, changes, series over time
``report``       what commands print, and the HTML report
``nightly``      a night, its journal, pipelines; a verdict on every node, within a budget
``onboarding``   a look at a machine, and the files that a site needs
``cli``          the command, one module for each verb
===============  ======================================================================================

Packages that add verbs, checks and sections of the report are found by ``core.plugins``; nothing here names
one: simulated platforms, bundles and their ranking, profiles of MPI programs.
"""

__version__ = "0.2.0"
