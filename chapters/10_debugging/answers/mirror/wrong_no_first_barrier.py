# verdict: race
# A barrier in an if is wrong, so I take it away.
@cuda.jit
def mirror(x, out):
    """Reverse each stretch of WIDE elements of x; the last may be shorter."""
    tile = cuda.shared.array(WIDE, float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * WIDE

    while start < x.size:
        count = min(WIDE, x.size - start)
        if t < count:
            tile[t] = x[start + t]  # <- here
            out[start + t] = tile[count - 1 - t]  # <- here
        cuda.syncthreads()
        start += cuda.gridDim.x * WIDE
