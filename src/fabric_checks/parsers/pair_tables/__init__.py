# SPDX-License-Identifier: BSD-3-Clause
"""Tables of pairs as other programs print them: one module a format, told apart by their content."""
