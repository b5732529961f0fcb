# verdict: loads
# Each thread adds up the sums of all threads before it, in shared memory.
@cuda.jit
def scan_tiles(x, ends, out):
    """Write the running sums of x; ends has those at the ends of blocks."""
    sums = cuda.shared.array(1024, float32)
    t = cuda.threadIdx.x
    a, b, c, d = load4(x, 4 * cuda.grid(1))
    b += a
    c += b
    d += c
    sums[t] = d
    cuda.syncthreads()

    before = float32(0)
    if cuda.blockIdx.x > 0:
        before = ends[cuda.blockIdx.x - 1]
    for k in range(t):
        before += sums[k]  # <- here
    store4(out, 4 * cuda.grid(1), before + a, before + b, before + c, before + d)
