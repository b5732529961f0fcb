# verdict: float64
# Nothing so far is 0.0.
@cuda.jit
def scan_once(x, out, words, ticket):
    """Write the running sums of x, reading it once."""
    sums = cuda.shared.array(32, float32)
    turn = cuda.shared.array(1, int32)
    v = cuda.local.array(16, float32)
    shift = cuda.local.array(4, float32)
    t = int32(cuda.threadIdx.x)
    warp, lane = t >> int32(5), t & int32(31)

    if t == 0:
        turn[0] = take_turn(ticket, words)
    cuda.syncthreads()
    tile = turn[0]

    load_tile(x, tile, v)
    mine = scan_fours(v, shift)
    if lane == 0:
        sums[warp] = mine
    cuda.syncthreads()

    if warp == 0:
        mine = sums[lane] if lane < cuda.blockDim.x // 32 else float32(0)
        upto = warp_scan(mine)
        total = cuda.shfl_sync(FULL, upto, 31)
        before = 0.0

        here = 32 + tile
        if lane == 0:
            poke(words, here, pack(SUM, total))

        back = here - 1 - lane
        votes = 0
        while votes == 0:
            word = peek(words, back)
            while flag_of(word) == 0:
                word = peek(words, back)
            votes = cuda.ballot_sync(FULL, flag_of(word) == ALL)
            counts = votes == 0 or lane < cuda.ffs(votes)
            before += warp_total(value_of(word) if counts else float32(0))
            back -= 32

        if lane == 0:
            poke(words, here, pack(ALL, before + total))

        sums[lane] = before + upto - mine
    cuda.syncthreads()

    store_tile(out, tile, v, shift, sums[warp])
