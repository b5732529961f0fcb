# verdict: misaligned
# Pad by one: 65 for a width of 64, just as 33 for 32.
@cuda.jit
def transpose_fast(x, out):
    """Transpose x (m, n) into out (n, m), a square of 4 x 4 per thread."""
    tile = cuda.shared.array((WIDE, 65), float32)
    tx, ty = int32(cuda.threadIdx.x), int32(cuda.threadIdx.y)
    top = int32(cuda.blockIdx.x * WIDE)
    left = int32(cuda.blockIdx.y * WIDE)

    a = load4(x, (top + 4 * ty, left + 4 * tx))
    b = load4(x, (top + 4 * ty + 1, left + 4 * tx))
    c = load4(x, (top + 4 * ty + 2, left + 4 * tx))
    d = load4(x, (top + 4 * ty + 3, left + 4 * tx))

    for i in range(4):
        store4(tile, (4 * tx + i, 4 * ty), a[i], b[i], c[i], d[i])  # <- here
    cuda.syncthreads()

    for i in range(4):
        e = load4(tile, (4 * ty + i, 4 * tx))
        store4(out, (left + 4 * ty + i, top + 4 * tx), e[0], e[1], e[2], e[3])
