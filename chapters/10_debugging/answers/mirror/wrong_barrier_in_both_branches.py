# verdict: barrier
# The others get a barrier too, in an else.
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
            cuda.syncthreads()
            out[start + t] = tile[count - 1 - t]
        else:
            cuda.syncthreads()  # <- here
        cuda.syncthreads()
        start += cuda.gridDim.x * WIDE
