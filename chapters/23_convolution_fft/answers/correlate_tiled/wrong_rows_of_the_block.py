# verdict: out-of-bounds
# Numbers are split by the width of the block.
@cuda.jit
def correlate_tiled(x, w, out):
    """Write the valid cross-correlation of x with a 5 x 5 filter into out."""
    tile = cuda.shared.array((TALL, BROAD), float32)
    taps = cuda.shared.array((K, K), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * HIGH, cuda.blockIdx.x * WIDE

    if ty < K and tx < K:
        taps[ty, tx] = w[ty, tx]

    for i in range(ty * WIDE + tx, TALL * BROAD, HIGH * WIDE):
        r, c = i // WIDE, i % WIDE
        if top + r < x.shape[0] and left + c < x.shape[1]:
            tile[r, c] = x[top + r, left + c]  # <- here
    cuda.syncthreads()

    row, col = top + ty, left + tx
    if row < out.shape[0] and col < out.shape[1]:
        total = float32(0)
        for p in range(K):
            for q in range(K):
                total += tile[ty + p, tx + q] * taps[p, q]
        out[row, col] = total
