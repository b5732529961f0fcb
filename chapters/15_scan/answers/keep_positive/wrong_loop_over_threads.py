# verdict: loads
# Each thread counts the flags before its own, in shared memory.
@cuda.jit
def keep_positive(x, ends, out):
    """Move the positive elements of x to the front of out, in order."""
    kept = cuda.shared.array(1024, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    value = x[i] if i < x.size else float32(0)
    keep = value > float32(0)
    kept[t] = 1 if keep else 0
    cuda.syncthreads()

    place = int32(0)
    if cuda.blockIdx.x > 0:
        place = ends[cuda.blockIdx.x - 1]
    for k in range(t):
        place += kept[k]  # <- here
    if keep:
        out[place] = value
