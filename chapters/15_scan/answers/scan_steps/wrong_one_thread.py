# verdict: loads
# A scan is a loop; thread 0 has time.
@cuda.jit
def scan_steps(x, out):
    """Write the running sums of each group of BLOCK elements into out."""
    tile = cuda.shared.array(BLOCK, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)

    tile[t] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()

    if t == 0:
        for k in range(1, BLOCK):
            tile[k] += tile[k - 1]
    cuda.syncthreads()

    if i < x.size:
        out[i] = tile[t]
