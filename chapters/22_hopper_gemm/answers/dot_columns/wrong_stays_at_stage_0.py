# verdict: wrong-value
# The consumers stay at stage 0, and do not flip the parity.
@cuda.jit
def dot_columns(x, y, out):
    """Write the products of 64 columns into out, through a ring of stages."""
    tx = cuda.shared.array((STAGES, WIDTH), float32, alignment=16)
    ty = cuda.shared.array((STAGES, WIDTH), float32, alignment=16)
    full = cuda.shared.array(STAGES, uint64)
    empty = cuda.shared.array(STAGES, uint64)
    t = int32(cuda.threadIdx.x)
    left = int32(cuda.blockIdx.x) * int32(WIDTH)
    rows = int32(x.shape[0])
    stage, parity = int32(0), int32(0)

    if t == 0:
        for s in range(STAGES):
            mbarrier_init(full, s, 1)
            mbarrier_init(empty, s, WIDTH)
        fence_mbarrier_init()
    cuda.syncthreads()

    if t < 32:
        if t == 0:
            for i in range(rows):
                mbarrier_wait(empty, stage, parity ^ int32(1))
                mbarrier_arrive_expect_tx(full, stage, 8 * WIDTH)
                bulk_copy(
                    tx, (stage, 0), x, (i, left), 4 * WIDTH, full, stage
                )
                bulk_copy(
                    ty, (stage, 0), y, (i, left), 4 * WIDTH, full, stage
                )
                stage, parity = turned(stage, parity)
    else:
        c = t - int32(32)
        total = float32(0)
        for _ in range(rows):
            mbarrier_wait(full, stage, parity)
            total += tx[stage, c] * ty[stage, c]
            mbarrier_arrive(empty, stage)
        out[left + c] = total
