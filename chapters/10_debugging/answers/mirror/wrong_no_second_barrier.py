# verdict: race
# One barrier is enough, outside the if.
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
        cuda.syncthreads()  # the whole block
        if t < count:  # and then only those with an element
            out[start + t] = tile[count - 1 - t]  # <- here
        start += cuda.gridDim.x * WIDE
