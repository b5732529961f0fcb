# verdict: negative-index
# The barrier goes outside, and what follows it too.
@cuda.jit
def mirror(x, out):
    """Turn round each WIDE elements of x; the last ones may be fewer."""
    tile = cuda.shared.array(WIDE, float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * WIDE

    while start < x.size:
        count = min(WIDE, x.size - start)
        if t < count:
            tile[t] = x[start + t]
        cuda.syncthreads()  # the whole block
        out[start + t] = tile[count - 1 - t]  # <- here
        cuda.syncthreads()
        start += cuda.gridDim.x * WIDE
