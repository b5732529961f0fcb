# verdict: loads
# The tile is small, so one thread can add it up.
@cuda.jit
def sum_interleaved(x, out):
    """Write the sum of each run of BLOCK elements of x into out."""
    tile = cuda.shared.array(BLOCK, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)

    tile[t] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()

    if t == 0:
        total = float32(0)
        for k in range(BLOCK):
            total += tile[k]  # <- here
        out[cuda.blockIdx.x] = total
