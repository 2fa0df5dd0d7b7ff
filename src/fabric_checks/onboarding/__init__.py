# SPDX-License-Identifier: BSD-3-Clause
"""What a site needs to begin: a look at its machine, what cannot be seen asked, and three files written.

``probe`` runs one tool, bounded in time and output; ``looking`` turns what tools said into ``facts``; ``questions``
is what is not known for certain; ``writing`` makes the files, and ``placing`` puts them where they belong.
"""
