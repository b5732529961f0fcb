"""How much of what is random each tier tries; see CONTRIBUTING."""

import os

LONG = "WEFT_LONG_TIER"  # set by conftest.py


def examples(many: int) -> int:
    """Return how many examples to try: a third of them, or all in the long tier."""
    return many if LONG in os.environ else many // 3
