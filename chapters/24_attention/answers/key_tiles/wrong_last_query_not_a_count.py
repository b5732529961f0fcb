# verdict: answer
# The last query is first + rows - 1, so the keys end there.
def key_tiles(first, rows, keys, seq, causal):
    """Return how many tiles need no mask, and how many are needed at all."""
    end = min(first + rows - 1, seq) if causal else seq
    return (first + 1 if causal else seq) // keys, -(-end // keys)  # <- here
