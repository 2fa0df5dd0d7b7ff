# SPDX-License-Identifier: BSD-3-Clause
"""The library behind the checks, in rooms. Each imports only those above it; pyproject.toml holds them to it.

==============  =======================================================================================
leaves          errors, text, metrics, layouts, levels, paths, files, yaml_file, locks, door, reservations
``parsers``     a program's text to rows, and Slurm's; what a machine's tools say of it
``analysis``    numbers to values and findings: curves, ppn, placement, statistics, cross-section
topology_files  what is known of a fabric, read from files
``software``    what environments offer and where it comes from: wheels, modules, Spack
``results``     the record and its writer, sessions, reading, archives
``cost``        what runs cost: measured, remembered, computed before
``references``  the file, line rates, look-up, proposals, audit
``reframe_ext`` everything that imports ReFrame; what ReFrame calls private in ``internals.py`` only
``comparison``  sets of results, changes, series over time
``report``      terminal, HTML, pictures
``nightly``     a night, its memory, pipelines
``vetting``     a verdict on every node, within a budget
``bundles``     what buyer and vendors exchange, checked; offers in an order
``site``        a look at a machine, and the files that a site needs
``cli``         the command, a module a verb
==============  =======================================================================================

Simulated platforms are a package of their own, ``fabric_twins``, which nothing here imports.
"""

__version__ = "0.1.0"
