# SPDX-License-Identifier: BSD-3-Clause
"""A second model of a fabric, by other physics than ``lab.faults``: a fluid, without any packet and any
random sharing.

*Model.* All pairs of a round begin at once. A flow has the max-min fair rate of what it shares with others,
as long as all of them last; when one ends, or a part changes its level, all rates are found anew (``flows``).
A fabric is a fat tree of two or three levels; its routes are static by tables, adaptive, sprayed, or hashed
(``fabric``). A value has log-normal noise, and may be at half by chance (``machine``). ``lab.rotate`` has the
procedure of ``rotate`` after its source; on saved outputs of the program it asks for the same pairs in the
same order.

*Scoring.* The verb ``blame`` reads the output and the topology files, as a user would give them; nothing
else of the library judges. Of each row of the table:

- ``alone``: all faults are blamed by their own names (both switches of a cable), with no alternative;
- ``among``: all are, but one or more with alternatives, as a wider part (an uplink of its leaf), or as slow
  pairs that do cross it;
- ``observed``: a fault is not blamed, but an observation has its names (such as what was slow and is not
  now);
- ``missed``: one or more are neither blamed alone nor among others;
- ``healthy``: something is blamed that contains no fault;
- ``false limit``: the run states that it would have named a part of this kind slower by less than the fault
  is, and did neither blame nor observe it. Cables and switches are held to the limit of cables;
- ``exit not 0``: the exit status; ``crashed``: the verb ended with an error instead.
"""
