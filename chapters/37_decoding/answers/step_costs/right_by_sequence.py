# verdict: pass
# Add up sequence by sequence.
def step_costs(lengths, heads, kv_heads, d):
    """Return the operations of a decoding step, and its bytes in two ways."""
    flops = once = apart = 0
    for keys in lengths:
        flops += 2 * heads * (2 * d * keys)
        once += 4 * d * (kv_heads * keys + heads)
        apart += 4 * d * heads * (keys + 1)
    return flops, once, apart
