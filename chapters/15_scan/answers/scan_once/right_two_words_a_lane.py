# verdict: pass
# Each lane reads two words, as far as there are any: 64 per iteration.
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
        before = float32(0)

        here = 32 + tile
        if lane == 0:
            poke(words, here, pack(SUM, total))

        back, found = here - 1 - lane, False
        while not found:
            near = peek(words, back)
            far = peek(words, max(back - 32, 31 - lane))
            while flag_of(near) == 0 or flag_of(far) == 0:
                near = peek(words, back)
                far = peek(words, max(back - 32, 31 - lane))
            votes = cuda.ballot_sync(FULL, flag_of(near) == ALL)
            more = cuda.ballot_sync(FULL, flag_of(far) == ALL)
            seen = float32(0)
            if votes == 0 or lane < cuda.ffs(votes):
                seen += value_of(near)
            if votes == 0 and (more == 0 or lane < cuda.ffs(more)):
                seen += value_of(far)
            before += warp_total(seen)
            found = votes != 0 or more != 0
            back -= 64

        if lane == 0:
            poke(words, here, pack(ALL, before + total))

        sums[lane] = before + upto - mine
    cuda.syncthreads()

    store_tile(out, tile, v, shift, sums[warp])
