# verdict: mbarrier
# All 128 threads have read the stage, so all of them arrive.
@cuda.jit
def gemm_ring(map_a, map_w, m, n, k, c):
    """Write a @ w.T into c, tile by tile, through a ring of stages."""
    memory = cuda.shared.array(0, uint8, alignment=1024)
    full = cuda.shared.array(STAGES, uint64)
    empty = cuda.shared.array(STAGES, uint64)
    acc = cuda.local.array(PER_THREAD, float32)
    group = int32(cuda.threadIdx.x) >> int32(7)
    t = int32(cuda.threadIdx.x) & int32(127)  # in the warpgroup
    rows = int32((m + int32(TM - 1)) // int32(TM))  # of tiles
    cols = int32((n + int32(TN - 1)) // int32(TN))
    steps = int32((k + int32(TK - 1)) // int32(TK))
    first, apart = int32(cuda.blockIdx.x), int32(cuda.gridDim.x)
    stage, parity = int32(0), int32(0)
    begin_ring(full, empty, 2)  # arrivals that free a stage

    if group == 0:
        setmaxnreg_dec(FEW)
        last = rows * cols if t == 0 else int32(0)
        for tile in range(first, last, apart):
            i, j = place_of(int32(tile), rows, cols)
            row, col = i * int32(TM), j * int32(TN)
            for step in range(steps):
                at, x = stage * int32(STAGE), int32(step) * int32(TK)
                mbarrier_wait(empty, stage, parity ^ int32(1))
                mbarrier_arrive_expect_tx(full, stage, STAGE)  # <- here
                tma_load(memory, at, map_a, x, row, full, stage)
                at += int32(W_AT)
                tma_load(memory, at, map_w, x, col, full, stage)
                stage, parity = turned(stage, parity)
    else:
        setmaxnreg_inc(MANY)
        half = group - int32(1)  # of the rows of a tile
        for tile in range(first, rows * cols, apart):
            i, j = place_of(int32(tile), rows, cols)
            row, col = i * int32(TM), j * int32(TN)
            for step in range(steps):
                at = stage * int32(STAGE)
                a = descriptor(memory, at + half * int32(8192))
                w = descriptor(memory, at + int32(W_AT))
                mbarrier_wait(full, stage, parity)
                wgmma_fence()
                wgmma_bf16(acc, TN, a, w, int32(step > 0))
                wgmma_bf16(acc, TN, a + 2, w + 2, int32(1))
                wgmma_bf16(acc, TN, a + 4, w + 4, int32(1))
                wgmma_bf16(acc, TN, a + 6, w + 6, int32(1))
                wgmma_commit()
                wgmma_wait(0)
                mbarrier_arrive(empty, stage)  # <- here
                stage, parity = turned(stage, parity)
            put_sums(c, acc, row + half * int32(64), col, t, m, n)
