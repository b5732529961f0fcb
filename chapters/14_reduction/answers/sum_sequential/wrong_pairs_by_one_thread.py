# verdict: loads
# Thread 0 adds the pairs 128 apart, straight from x.
@cuda.jit
def sum_sequential(x, out):
    """Write the sum of each run of BLOCK elements into out, adding halves."""
    if cuda.threadIdx.x == 0:
        total = float32(0)
        start = cuda.blockIdx.x * BLOCK
        for i in range(start, min(start + BLOCK // 2, x.size)):
            other = float32(0)
            if i + BLOCK // 2 < x.size:
                other = x[i + BLOCK // 2]  # <- here
            total += x[i] + other
        out[cuda.blockIdx.x] = total
