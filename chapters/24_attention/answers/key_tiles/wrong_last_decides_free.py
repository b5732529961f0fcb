# verdict: answer
# The last query decides both.
def key_tiles(first, rows, keys, seq, causal):
    """Return how many tiles need no mask, and how many are needed at all."""
    if not causal:
        return seq // keys, -(-seq // keys)
    last = min(first + rows, seq) - 1
    return (last + 1) // keys, last // keys + 1  # <- here
