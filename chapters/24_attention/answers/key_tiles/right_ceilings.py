# verdict: pass
# Write the count with a ceiling.
def key_tiles(first, rows, keys, seq, causal):
    """Return how many tiles need no mask, and how many are needed at all."""
    if not causal:
        return seq // keys, -(-seq // keys)
    last = min(first + rows, seq) - 1
    return (first + 1) // keys, -(-(last + 1) // keys)
