# verdict: wrong-value
# The vector of four starts at col, so the place is col.
@cuda.jit
def argmax_rows(x, out):
    """Write the column of the largest element of each row of x into out."""
    tops = cuda.shared.array(32, float32)
    places = cuda.shared.array(32, int32)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    warp, lane = t // 32, t % 32
    top, place = LOWEST, int32(x.shape[1])

    for col in range(4 * t, x.shape[1], 4 * cuda.blockDim.x):
        four = load4(x, (row, col))
        for j in range(4):
            top, place = better(top, place, four[j], int32(col))

    for delta in (16, 8, 4, 2, 1):
        other = cuda.shfl_down_sync(FULL, top, delta)
        where = cuda.shfl_down_sync(FULL, place, delta)
        top, place = better(top, place, other, where)

    if lane == 0:
        tops[warp], places[warp] = top, place
    cuda.syncthreads()

    if warp == 0:
        top, place = LOWEST, int32(x.shape[1])
        if lane < cuda.blockDim.x // 32:
            top, place = tops[lane], places[lane]
        for delta in (16, 8, 4, 2, 1):
            other = cuda.shfl_down_sync(FULL, top, delta)
            where = cuda.shfl_down_sync(FULL, place, delta)
            top, place = better(top, place, other, where)
        if lane == 0:
            out[row] = place  # <- here
