# verdict: pass
# Only the lanes that have an element shuffle, and the mask says so.
@cuda.jit
def warp_max(x, out):
    i = cuda.grid(1)
    mask = cuda.ballot_sync(FULL, i < x.size)
    if i < x.size:
        m = x[i]
        count = cuda.popc(mask)
        v = m
        for k in range(count):
            m = max(m, cuda.shfl_sync(mask, v, k))
        out[i] = m
