"""What lab 26 gives for its filter: plans for rows, and sizes that are fast."""

from weft.libraries import cufft


def planned(kind, n, batch):
    """Return a plan for rows without gaps."""
    plan = cufft.create()
    cufft.make_plan1d(plan, n, kind, batch)
    return plan


def good_size(m):
    """Return the smallest size from m on without prime factors above 7."""
    size = m
    while True:
        rest = size
        for factor in (2, 3, 5, 7):
            while rest % factor == 0:
                rest //= factor
        if rest == 1:
            return size
        size += 1
