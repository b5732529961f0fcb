# verdict: pass
# Threads without an element hold a copy of the last one.
@cuda.jit
def mirror(x, out):
    """Reverse each stretch of WIDE elements of x; the last may be shorter."""
    tile = cuda.shared.array(WIDE, float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * WIDE

    while start < x.size:
        count = min(WIDE, x.size - start)
        tile[t] = x[min(start + t, x.size - 1)]
        cuda.syncthreads()  # the whole block
        if t < count:  # and then only those with an element
            out[start + t] = tile[count - 1 - t]
        cuda.syncthreads()
        start += cuda.gridDim.x * WIDE
