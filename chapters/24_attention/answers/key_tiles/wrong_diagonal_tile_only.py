# verdict: answer
# Every tile but the last needed one is free.
def key_tiles(first, rows, keys, seq, causal):
    """Return how many tiles need no mask, and how many are needed at all."""
    if not causal:
        return seq // keys, -(-seq // keys)
    last = min(first + rows, seq) - 1
    return last // keys, last // keys + 1  # <- here
