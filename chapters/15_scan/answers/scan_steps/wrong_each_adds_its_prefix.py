# verdict: loads
# Each thread adds up all before it, straight from x.
@cuda.jit
def scan_steps(x, out):
    """Write the running sums of each group of BLOCK elements into out."""
    i = cuda.grid(1)

    if i < x.size:
        total = float32(0)
        for k in range(cuda.blockIdx.x * BLOCK, i + 1):
            total += x[k]  # <- here
        out[i] = total
