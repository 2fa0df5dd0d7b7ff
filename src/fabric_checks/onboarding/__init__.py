# SPDX-License-Identifier: BSD-3-Clause
"""Describe a site: look at its machine, ask for what cannot be seen, and write its files.

``probe`` runs one tool, bounded in time; ``detection`` turns answers into ``facts``; ``questions``
are on what is not certain; ``site_files`` makes the files from templates, ``installation`` writes them.
"""
