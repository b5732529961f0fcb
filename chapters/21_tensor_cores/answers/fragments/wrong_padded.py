# verdict: bank-conflicts
# Pad the rows to 20 words.
@cuda.jit
def fragments(x, out):
    """Copy a tile of 32 x 32 float16 and load it as fragments of a."""
    tile = cuda.shared.array((32, 20), int32)
    t = int32(cuda.threadIdx.x)
    lane, warp = t % int32(32), t // int32(32)

    for i in range(2):
        cell = t + int32(64 * i)
        r, piece = cell // int32(4), cell % int32(4)
        p, q, s, u = load4(x, (r, int32(4) * piece))
        place = piece
        store4(tile, (r, int32(4) * place), p, q, s, u)
    cuda.syncthreads()

    r = int32(16) * warp + lane % int32(16)
    for step in range(2):
        piece = int32(2 * step) + lane // int32(16)
        place = piece
        f = ldmatrix_x4(tile, (r, int32(4) * place))
        for i in range(4):
            out[warp, step, lane, i] = f[i]
    # END SOLUTION
