# verdict: negative-index
# The barrier goes outside the if, and so does what follows it.
@cuda.jit
def mirror(x, out):
    """Reverse each stretch of WIDE elements of x; the last may be shorter."""
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
