# verdict: answer
# Mask every tile of a causal block, to be safe.
def key_tiles(first, rows, keys, seq, causal):
    """Return how many tiles need no mask, and how many are needed at all."""
    if not causal:
        return seq // keys, -(-seq // keys)
    last = min(first + rows, seq) - 1
    return 0, last // keys + 1  # <- here
