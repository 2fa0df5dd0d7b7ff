# SPDX-License-Identifier: BSD-3-Clause
"""Results of many runs, wherever they are: perflogs, archives, ReFrame's database; as one table."""
