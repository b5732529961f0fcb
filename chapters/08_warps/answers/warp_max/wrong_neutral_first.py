# verdict: wrong-value
# A lane without an element may take any other, such as the first.
@cuda.jit
def warp_max(x, out):
    """Give each element the maximum of its group of 32."""
    i = cuda.grid(1)

    value = x[i] if i < x.size else x[0]
    for k in (16, 8, 4, 2, 1):
        value = max(value, cuda.shfl_xor_sync(FULL, value, k))
    if i < x.size:
        out[i] = value  # <- here
