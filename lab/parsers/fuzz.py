# SPDX-License-Identifier: BSD-3-Clause
"""Mutated outputs for every parser: ``python -m lab.parsers.fuzz PARSER COUNT [SEED]``; PARSER may be ``all``.

Each mutation is drawn from a seed of its own, so that one that is named can be repeated alone.
"""

import sys
import warnings
from random import Random

from fabric_checks.core.errors import OutputError
from lab.parsers import mutations, oracle
from tests.parsers import corpus


def others():
    """Return the texts that lines are taken from: the first output of each parser."""
    return [next(iter(outputs())).text for outputs in corpus.OUTPUTS.values()]


def drawn(parser, number, wholes, foreign, seed=0):
    """Return mutation ``number`` of a parser: the output it began with, and the text."""
    random = Random(f"{seed}-{parser}-{number}")
    whole = random.choice(wholes)
    return whole, mutations.mutated(whole.text, random, foreign)


def tried(whole, text, parser):
    """Return whether a text was accepted, and what was wrong with that if anything was."""
    try:
        output = whole.parse(text)
    except OutputError as error:
        message = str(error)
        return False, None if message.isprintable() and len(message) < 1000 else f"a message: {message[:1000]!r}"
    except BaseException as error:  # a panic of Polars is no Exception
        if isinstance(error, KeyboardInterrupt):
            raise
        return False, repr(error)
    require = oracle.REQUIRE.get(parser)
    if require is not None:
        try:
            require(text, output, **whole.parse.keywords)
        except Exception as error:  # what the oracle cannot read is as bad
            return True, f"accepted, but {error!r}"
    return True, None


def run(parser, count, seed=0, first=0):
    """Try ``count`` mutations of a parser's outputs; return how many were accepted, and what was wrong, by number."""
    wholes, foreign = list(corpus.OUTPUTS[parser]()), others()
    accepted, wrong = 0, {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for number in range(first, first + count):
            whole, text = drawn(parser, number, wholes, foreign, seed)
            was_accepted, fault = tried(whole, text, parser)
            accepted += was_accepted
            if fault:
                wrong[number] = f"{whole.name}: {fault}"
    return accepted, wrong


def main(parser, count, seed="0"):
    """Run and print one line for each parser, and one for each of the first faults."""
    for name in corpus.OUTPUTS if parser == "all" else parser.split(","):
        accepted, wrong = run(name, int(count), int(seed))
        print(f"{name}: {count} mutated outputs (seed {seed}), {accepted} accepted, {len(wrong)} wrong", flush=True)
        for number, fault in list(wrong.items())[:20]:
            print(f"  {number}: {fault[:600]}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
