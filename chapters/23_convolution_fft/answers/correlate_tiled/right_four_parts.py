# verdict: pass
# Load its own element, one below, one to the right, and one at the corner.
@cuda.jit
def correlate_tiled(x, w, out):
    """Write the valid cross-correlation of x with a 5 x 5 filter into out."""
    tile = cuda.shared.array((TALL, BROAD), float32)
    taps = cuda.shared.array((K, K), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * HIGH, cuda.blockIdx.x * WIDE

    if ty < K and tx < K:
        taps[ty, tx] = w[ty, tx]

    row, col = top + ty, left + tx
    if row < x.shape[0] and col < x.shape[1]:
        tile[ty, tx] = x[row, col]
    if ty < K - 1 and row + HIGH < x.shape[0] and col < x.shape[1]:
        tile[ty + HIGH, tx] = x[row + HIGH, col]
    if tx < K - 1 and row < x.shape[0] and col + WIDE < x.shape[1]:
        tile[ty, tx + WIDE] = x[row, col + WIDE]
    if ty < K - 1 and tx < K - 1:
        if row + HIGH < x.shape[0] and col + WIDE < x.shape[1]:
            tile[ty + HIGH, tx + WIDE] = x[row + HIGH, col + WIDE]
    cuda.syncthreads()

    if row < out.shape[0] and col < out.shape[1]:
        value = float32(0)
        for p in range(K):
            for q in range(K):
                value += tile[ty + p, tx + q] * taps[p, q]
        out[row, col] = value
