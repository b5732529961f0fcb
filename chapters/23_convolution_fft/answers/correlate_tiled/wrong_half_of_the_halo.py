# verdict: uninitialised
# A filter reaches half its width.
@cuda.jit
def correlate_tiled(x, w, out):
    """Write the valid cross-correlation of x with a 5 x 5 filter into out."""
    tile = cuda.shared.array((TALL, BROAD), float32)
    taps = cuda.shared.array((K, K), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * HIGH, cuda.blockIdx.x * WIDE

    if ty < K and tx < K:
        taps[ty, tx] = w[ty, tx]

    for i in range(ty, HIGH + K // 2, HIGH):  # <- here
        for j in range(tx, WIDE + K // 2, WIDE):  # <- here
            if top + i < x.shape[0] and left + j < x.shape[1]:
                tile[i, j] = x[top + i, left + j]
    cuda.syncthreads()

    row, col = top + ty, left + tx
    if row < out.shape[0] and col < out.shape[1]:
        value = float32(0)
        for p in range(K):
            for q in range(K):
                value += tile[ty + p, tx + q] * taps[p, q]
        out[row, col] = value
