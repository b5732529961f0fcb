# verdict: loads
# Each thread goes through its group itself, so no shuffle is needed.
@cuda.jit
def warp_max(x, out):
    """Give each element the maximum of its group of 32."""
    i = cuda.grid(1)

    if i < x.size:
        first = i // 32 * 32
        value = LOWEST
        for k in range(first, min(first + 32, x.size)):
            value = max(value, x[k])  # <- here
        out[i] = value
