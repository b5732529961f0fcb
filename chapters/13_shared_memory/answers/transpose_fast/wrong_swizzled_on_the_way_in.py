# verdict: wrong-value
# Take the squares out as if they were not swizzled.
@cuda.jit
def transpose_fast(x, out):
    tile = cuda.shared.array((WIDE, WIDE), float32)
    tx, ty = int32(cuda.threadIdx.x), int32(cuda.threadIdx.y)
    top = int32(cuda.blockIdx.x * WIDE)
    left = int32(cuda.blockIdx.y * WIDE)
    swizzled = 4 * (tx ^ ty)

    a = load4(x, (top + 4 * ty, left + 4 * tx))
    b = load4(x, (top + 4 * ty + 1, left + 4 * tx))
    c = load4(x, (top + 4 * ty + 2, left + 4 * tx))
    d = load4(x, (top + 4 * ty + 3, left + 4 * tx))

    for i in range(4):
        store4(tile, (4 * tx + i, swizzled), a[i], b[i], c[i], d[i])
    cuda.syncthreads()

    for i in range(4):
        e = load4(tile, (4 * ty + i, 4 * tx))  # <- here
        store4(out, (left + 4 * ty + i, top + 4 * tx), e[0], e[1], e[2], e[3])
