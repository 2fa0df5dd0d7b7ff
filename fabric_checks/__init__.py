# SPDX-License-Identifier: BSD-3-Clause
"""The library behind the checks: parsers, metrics, layouts, references, results.

Only ``fabric_checks.mixins`` imports ReFrame. Parsers and statistics take text or numbers and return data;
they know no files, no systems and no ReFrame.
"""

__version__ = "0.1.0"
