# SPDX-License-Identifier: BSD-3-Clause
"""Cross-section bandwidth: the matrix of all pairs, and the node, cable or switch that is slow.

The test is Naegle's rotate (e-mails of June 2004 on the cross-sectional bandwidth of Feynman and Rogue):
every node of one half streams to every node of the other half, all pairs of a round at once.
"""
