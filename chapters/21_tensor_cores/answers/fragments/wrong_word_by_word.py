# verdict: narrow
# Each thread copies eight words, one at a time.
@cuda.jit
def fragments(x, out):
    """Copy a tile of 32 x 32 float16 and load it as fragments of a."""
    tile = cuda.shared.array((32, 16), int32)
    t = int32(cuda.threadIdx.x)
    lane, warp = t % int32(32), t // int32(32)

    for i in range(8):
        cell = t + int32(64 * i)
        r, word = cell // int32(16), cell % int32(16)
        place = (word // int32(4)) ^ (r // int32(2) % int32(4))
        tile[r, int32(4) * place + word % int32(4)] = x[r, word]
    cuda.syncthreads()

    r = int32(16) * warp + lane % int32(16)
    for step in range(2):
        piece = int32(2 * step) + lane // int32(16)
        place = piece ^ (r // int32(2) % int32(4))
        f = ldmatrix_x4(tile, (r, int32(4) * place))
        for i in range(4):
            out[warp, step, lane, i] = f[i]
