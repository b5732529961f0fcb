# verdict: loads
# Thread 0 adds up all 256, and no thread has to wait.
@cuda.jit
def block_sum(x, out):
    """Write the sum of each group of 256 elements of x into out."""
    sums = cuda.shared.array(WARPS, float32)
    i = cuda.grid(1)
    warp, lane = cuda.threadIdx.x // 32, cuda.threadIdx.x % 32
    value = x[i] if i < x.size else float32(0)

    if cuda.threadIdx.x == 0:
        for k in range(i + 1, min(i + 256, x.size)):
            value += x[k]  # <- here
        out[cuda.blockIdx.x] = value
