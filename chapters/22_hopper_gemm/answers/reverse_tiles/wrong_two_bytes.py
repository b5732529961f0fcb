# verdict: uninitialised
# I take a float32 for two bytes.
@cuda.jit
def reverse_tiles(x, out):
    """Write the numbers of this block's tile into out, in reverse order."""
    tile = cuda.shared.array(TILE, float32, alignment=16)
    bars = cuda.shared.array(1, uint64)
    t = int32(cuda.threadIdx.x)
    start = int32(cuda.blockIdx.x) * int32(TILE)
    count = min(int32(x.shape[0]) - start, int32(TILE))  # numbers of this tile

    if t == 0:
        mbarrier_init(bars, 0, 1)
        fence_mbarrier_init()
    cuda.syncthreads()

    if t == 0:
        nbytes = int32(2) * count
        mbarrier_arrive_expect_tx(bars, 0, nbytes)
        bulk_copy(tile, 0, x, start, nbytes, bars, 0)
    mbarrier_wait(bars, 0, 0)

    if t < count:
        out[start + t] = tile[count - int32(1) - t]
