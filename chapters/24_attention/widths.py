"""Heads of another width than the lab's, for a check that tries one."""

import math

import numpy as np

from . import checks, kernels

WIDE_HEAD = {
    "HEAD": 32,
    "HEAD8": 4,
    "HEAD16": 2,
    "HW": 16,
    "PITCH": 20,
    "SCALE2": np.float32(math.log2(math.e) * 32**-0.5),
}


def words_of(rng, heads, seq):
    """Return q, k and v as `checks.words_of` does, in rows of `kernels.HEAD` numbers.

    Checks change `kernels.HEAD`, a multiple of the lab's width.
    """
    parts = kernels.HEAD // checks.HEAD
    made = [checks.words_of(rng, heads, seq) for _ in range(parts)]
    return tuple(np.concatenate(each, axis=2) for each in zip(*made, strict=True))


def queries_and_keys(rng, heads, seq, causal):
    """Return q and k of `words_of`, and whether there is a causal mask."""
    q, k, _ = words_of(rng, heads, seq)
    return q, k, bool(causal)
