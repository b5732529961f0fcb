"""Specifications and data for the checks of lab 12."""

import numpy as np

from weft.checking.slips import result_if


def ring(n, seed=0):
    """Return links that visit n places in random order, then the first."""
    order = np.random.default_rng(seed).permutation(n)
    link = np.empty(n, np.uint32)
    link[order] = np.roll(order, -1)
    return link


def follow(link, steps):
    """Return the place where a walk of so many steps from place 0 ends."""
    places = [0]
    while len(places) <= steps:
        places.append(link[places[-1]])
    return np.array(places[-1:], np.uint32)


def polyval(x, c):
    """Return c[0] + c[1] x + c[2] x² …"""
    total = x * 0
    for a in c[::-1]:
        total = total * x + np.float32(a)
    return total


def horner_slips(c):
    """Return what a wrong polynomial is the result of, for 8 coefficients."""
    wider = [*c, c[7]]  # with c[7] x⁸
    early = [0.0, *c[:6], c[7] + c[6]]  # a further product with x, c[7] apart
    return result_if(
        {
            "the last step is missing, which multiplies by `x` and adds `c[0]`": (
                lambda x: polyval(x, c[1:])
            ),
            "`c[0]` is not added": lambda x: x * polyval(x, c[1:]),
            "the coefficients come in the other order, and `c[0]` belongs to x⁷": (
                lambda x: polyval(x, c[::-1])
            ),
            "`c[7]` counts twice, the second time with x⁸": lambda x: polyval(x, wider),
            "a coefficient is added before the product with `x`, and not after it": (
                lambda x: polyval(x, early)
            ),
            "each step adds `c[k + 1]` for `c[k]`: `c[7]` counts twice, `c[0]` never": (
                lambda x: polyval(x, [*c[1:], c[7]])
            ),
        }
    )


HORNER = horner_slips(  # with the lab's coefficients
    [1.0, -0.5, 0.25, 0.75, -0.125, 0.5, 0.0625, -0.25]
)


def why_not_horner(x, out):
    """Say what a wrong polynomial is the result of."""
    return HORNER(x, out)
