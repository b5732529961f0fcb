# verdict: wrong-value
# The row of a lane is lane % 8.
@cuda.jit
def fragments(x, out):
    """Copy a tile of 32 x 32 float16 and load it as fragments of a."""
    tile = cuda.shared.array((32, 16), int32)
    t = int32(cuda.threadIdx.x)
    lane, warp = t % int32(32), t // int32(32)

    for n in range(2):
        number = t + 64 * n
        row = number // 4
        piece = number % 4
        a, b, c, d = load4(x, (row, 4 * piece))
        store4(tile, (row, 4 * (piece ^ (row // 2 % 4))), a, b, c, d)
    cuda.syncthreads()
    for step in range(2):
        row = 16 * warp + lane % 8
        piece = 2 * step + lane // 16
        f = ldmatrix_x4(tile, (row, 4 * (piece ^ (row // 2 % 4))))  # <- here
        for v in range(4):
            out[warp, step, lane, v] = f[v]
