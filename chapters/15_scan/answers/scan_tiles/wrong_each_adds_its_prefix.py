# verdict: loads
# Each thread adds up what comes before it in the block, straight from x.
@cuda.jit
def scan_tiles(x, ends, out):
    """Write the running sums of x; ends has those at the ends of blocks."""
    a, b, c, d = load4(x, 4 * cuda.grid(1))
    b += a
    c += b
    d += c

    before = float32(0)
    if cuda.blockIdx.x > 0:
        before = ends[cuda.blockIdx.x - 1]
    for k in range(cuda.blockIdx.x * cuda.blockDim.x, cuda.grid(1)):
        p, q, r, s = load4(x, 4 * k)  # <- here
        before += (p + q) + (r + s)
    store4(out, 4 * cuda.grid(1), before + a, before + b, before + c, before + d)
