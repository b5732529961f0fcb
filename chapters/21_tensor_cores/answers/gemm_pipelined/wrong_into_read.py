# verdict: race
# Fetch into the pair that has just been waited for.
@cuda.jit
def gemm_pipelined(a, b, c):
    """Write a @ b into c, with STAGES pairs of tiles and copies in flight."""
    pool = cuda.shared.array(0, int32)  # as much as the launch says
    ta = as_matrix(pool, 0, DEEP_A, KW)
    tb = as_matrix(pool, WORDS_A, DEEP_B, NW)
    sums = cuda.local.array((MF, NF, 4), float32)
    t = int32(cuda.threadIdx.x)
    lane, warp = t & int32(31), t >> int32(5)
    row0 = int32(cuda.blockIdx.y) * int32(BM)
    col0 = int32(cuda.blockIdx.x) * int32(BN)
    wm = warp // int32(BN // WN) * int32(WM)
    wn = warp % int32(BN // WN) * int32(WN)
    clear(sums)

    for stage in range(LAST):
        start = int32(stage * KW)
        fetch(ta, tb, int32(stage), a, b, row0, col0, start)
        commit_group()

    read, write = int32(0), int32(LAST)  # the pairs to multiply, to fill
    for start in range(int32(0), int32(a.shape[1]), int32(KW)):
        ahead = start + int32(LAST * KW)  # the stride that `write` is for
        wait_group(WAIT)
        cuda.syncthreads()
        fetch(ta, tb, read, a, b, row0, col0, ahead)
        commit_group()
        multiply(sums, ta, tb, read, wm, wn, lane)
        read = read + int32(1) if read < int32(LAST) else int32(0)
        write = write + int32(1) if write < int32(LAST) else int32(0)

    put(c, sums, row0 + wm, col0 + wn, lane)
    # END SOLUTION
