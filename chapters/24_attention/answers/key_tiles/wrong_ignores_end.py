# verdict: answer
# The last query is first + rows - 1, even beyond the end.
def key_tiles(first, rows, keys, seq, causal):
    """Return how many tiles need no mask, and how many are needed at all."""
    if not causal:
        return seq // keys, -(-seq // keys)
    last = first + rows - 1
    return (first + 1) // keys, last // keys + 1  # <- here
