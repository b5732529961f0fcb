# verdict: pass
# math.ceil rounds up.
import math


def blocks_for(n, threads):
    """Return how many blocks of `threads` threads cover n elements."""
    return math.ceil(n / threads)
