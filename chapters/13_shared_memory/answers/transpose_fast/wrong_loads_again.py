# verdict: loads
# Load the square once for each of its columns.
@cuda.jit
def transpose_fast(x, out):
    """Transpose x (m, n) into out (n, m), a square of 4 x 4 per thread."""
    tile = cuda.shared.array((WIDE, WIDE), float32)
    tx, ty = int32(cuda.threadIdx.x), int32(cuda.threadIdx.y)
    top = int32(cuda.blockIdx.x * WIDE)
    left = int32(cuda.blockIdx.y * WIDE)
    swizzled = 4 * (tx ^ ty)

    r, k = top + 4 * ty, left + 4 * tx
    for i in range(4):
        a, b = load4(x, (r, k)), load4(x, (r + 1, k))
        c, d = load4(x, (r + 2, k)), load4(x, (r + 3, k))  # <- here
        store4(tile, (4 * tx + i, 4 * ((tx + ty) % 16)), a[i], b[i], c[i], d[i])
    cuda.syncthreads()

    for i in range(4):
        e = load4(tile, (4 * ty + i, 4 * ((tx + ty) % 16)))
        store4(out, (left + 4 * ty + i, top + 4 * tx), e[0], e[1], e[2], e[3])
