# verdict: narrow
# Load a column of the square, element by element.
@cuda.jit
def transpose_fast(x, out):
    """Transpose x (m, n) into out (n, m), a square of 4 x 4 per thread."""
    tile = cuda.shared.array((WIDE, WIDE), float32)
    tx, ty = int32(cuda.threadIdx.x), int32(cuda.threadIdx.y)
    top = int32(cuda.blockIdx.x * WIDE)
    left = int32(cuda.blockIdx.y * WIDE)
    swizzled = 4 * (tx ^ ty)

    for i in range(4):
        r, k = top + 4 * ty, left + 4 * tx + i
        p, q = x[r, k], x[r + 1, k]  # <- here
        s, u = x[r + 2, k], x[r + 3, k]
        store4(tile, (4 * tx + i, 4 * ((tx + ty) % 16)), p, q, s, u)
    cuda.syncthreads()

    for i in range(4):
        e = load4(tile, (4 * ty + i, 4 * ((tx + ty) % 16)))
        store4(out, (left + 4 * ty + i, top + 4 * tx), e[0], e[1], e[2], e[3])
