# verdict: pass
# Each half of a pair knows the other half; the upper one adds it.
@cuda.jit
def scan_warps(x, out):
    i = cuda.grid(1)
    value = x[i] if i < x.size else float32(0)
    lane = cuda.threadIdx.x % 32
    total = value
    for bit in (1, 2, 4, 8, 16):
        other = cuda.shfl_xor_sync(FULL, total, bit)
        if lane & bit:
            value += other
        total += other
    if i < x.size:
        out[i] = value
