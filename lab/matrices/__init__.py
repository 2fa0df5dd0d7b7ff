# SPDX-License-Identifier: BSD-3-Clause
"""How often ``fabric-checks blame`` names the part at fault in tables of pairs that public tools have
measured.

*Machines.* Those of ``lab.fluid``: fat trees of 16 to 128 nodes, of a random or a regular forwarding table or
adaptive; faults do not change in time. A third has heavy tails (1 % of the values lose 5 to 50 %); in a third
a quarter to a half of the nodes are of a second, healthy kind, 3 to 50 % slower. The same machine is measured
in each format; what runs at once shares its links (``machines``). A value has 3 % of log-normal noise, and
each pair 1 % in common in a launch.

*Formats.* ``formats`` writes what each tool would, as it measures: which pairs run at once, in one direction
or both, how often. The topology and the routing are given to the verb as to ``rotate``; hosts with four
devices have none. That one pair ran at a time is said where it did (``--alone``): nccl-tests and
perftest.

*Scoring* (``scoring``), of each trial:

- ``named``: all faults by their own names, and of devices the right one;
- ``half``: all, but one or more by what contains it: the host for its device, an uplink of its leaf for a
  cable, or slow pairs that do cross it;
- ``listed``: nobody is blamed for it, but a note has its names, such as in the list of what to measure again;
- ``missed``: neither named nor half (``listed`` included);
- ``false``: something is blamed that contains no fault; a device that is not the one, too.

A cable that makes no pair slower, as only nodes of a slow kind use it, is no fault; a pair at fault is slower
than its two nodes. What looks like something else in such tables is counted, in groups of its own: a cable or
a pair shows where one pair ran at a time, where what the verb lists is measured alone (as long as it lists
others, three times at most), or where rounds, forwarding tables and static routing are known, else a pair
that shares a cable looks the same; two cables in series between the only two leaves carry the same pairs; and
of 120 pairs with two values each, of which 1 in 100 is low by chance, one has two low values in 1 of 80 such
runs.
"""
