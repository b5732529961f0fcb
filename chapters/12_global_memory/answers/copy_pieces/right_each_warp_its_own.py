# verdict: pass
# A warp copies 32 * PIECE consecutive elements.
@cuda.jit
def copy_pieces(x, out):
    t = cuda.grid(1)
    warp, lane = t // 32, t % 32
    for k in range(PIECE):
        i = warp * 32 * PIECE + k * 32 + lane
        if i < x.size:
            v = x[i]
            out[i] = v
