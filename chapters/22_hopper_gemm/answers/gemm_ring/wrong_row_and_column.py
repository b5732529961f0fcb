# verdict: wrong-value
# The row of a box comes first.
@cuda.jit
def gemm_ring(map_a, map_w, m, n, k, c):
    """Write a @ w.T into c, tile by tile, through a ring of stages."""
    memory = cuda.shared.array(0, uint8, alignment=1024)
    full = cuda.shared.array(STAGES, uint64)
    empty = cuda.shared.array(STAGES, uint64)
    acc = cuda.local.array(SUMS, float32)
    group = int32(cuda.threadIdx.x) >> int32(7)
    t = int32(cuda.threadIdx.x) & int32(127)  # in the warpgroup
    rows = int32((m + int32(BM - 1)) // int32(BM))  # of tiles
    cols = int32((n + int32(BN - 1)) // int32(BN))
    steps = int32((k + int32(LINE - 1)) // int32(LINE))
    first, apart = int32(cuda.blockIdx.x), int32(cuda.gridDim.x)
    stage, parity = int32(0), int32(0)
    begin(full, empty)

    if group == 0:
        setmaxnreg_dec(FEWER)
        last = rows * cols if t == 0 else int32(0)
        for tile in range(first, last, apart):
            i, j = tile_of(int32(tile), rows, cols)
            row, col = i * int32(BM), j * int32(BN)
            for step in range(steps):
                at, x = stage * int32(STAGE_BYTES), int32(step) * int32(LINE)
                mbarrier_wait(empty, stage, parity ^ int32(1))
                mbarrier_arrive_expect_tx(full, stage, STAGE_BYTES)
                tma_load(memory, at, map_a, row, x, full, stage)
                at += int32(A_BYTES)
                tma_load(memory, at, map_w, col, x, full, stage)
                stage, parity = turned(stage, parity)
    else:
        setmaxnreg_inc(MORE)
        half = group - int32(1)  # of the rows of a tile
        for tile in range(first, rows * cols, apart):
            i, j = tile_of(int32(tile), rows, cols)
            row, col = i * int32(BM), j * int32(BN)
            for step in range(steps):
                at = stage * int32(STAGE_BYTES)
                a = descriptor(memory, at + half * int32(8192))
                w = descriptor(memory, at + int32(A_BYTES))
                mbarrier_wait(full, stage, parity)
                wgmma_fence()
                wgmma_bf16(acc, BN, a, w, int32(step > 0))
                wgmma_bf16(acc, BN, a + 2, w + 2, int32(1))
                wgmma_bf16(acc, BN, a + 4, w + 4, int32(1))
                wgmma_bf16(acc, BN, a + 6, w + 6, int32(1))  # <- here
                wgmma_commit()
                wgmma_wait(0)
                if t == 0:
                    mbarrier_arrive(empty, stage)
                stage, parity = turned(stage, parity)
            hold(acc, SUMS)
            put(c, acc, row + half * int32(64), col, t, m, n)
