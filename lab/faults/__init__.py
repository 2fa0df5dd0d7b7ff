# SPDX-License-Identifier: BSD-3-Clause
"""A laboratory of faults: fabrics whose faults are known, what `rotate` prints of them, and what the analysis
says."""
