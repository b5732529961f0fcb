# verdict: warp
# A mask from a vote is a good mask, but lane 15 still reads from lane 31.
@cuda.jit
def warp_max(x, out):
    """Give each element the maximum of its group of 32."""
    i = cuda.grid(1)

    mask = cuda.ballot_sync(FULL, i < x.size)
    if i < x.size:
        value = x[i]
        for k in (16, 8, 4, 2, 1):
            value = max(value, cuda.shfl_xor_sync(mask, value, k))  # <- here
        out[i] = value
