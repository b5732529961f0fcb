# verdict: answer
# Round up, as for a number of keys; but `last` is the index of the last key.
def key_tiles(first, rows, keys, seq, causal):
    """Return how many tiles need no mask, and how many are needed at all."""
    if not causal:
        return seq // keys, -(-seq // keys)
    last = min(first + rows, seq) - 1
    return (first + 1) // keys, -(-last // keys)  # <- here
