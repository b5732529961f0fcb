# verdict: wrong-value
# warp_sum gives the sum, thread 0 writes it.
@cuda.jit
def sum_shuffle(x, out):
    """Write the sum of each block's elements of x into out."""
    sums = cuda.shared.array(32, float32)
    warp, lane = cuda.threadIdx.x // 32, cuda.threadIdx.x % 32
    i = cuda.grid(1)
    value = x[i] if i < x.size else float32(0)

    value = warp_sum(value)
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] = value  # <- here
