"""The backward pass at full speed.

There are two kernels, so that each can keep its sums in registers. `grads_kv` keeps
`dk` and `dv` of 128 keys and goes over all queries. It also writes `dS` to memory, in
bfloat16. `grads_queries` keeps `dq` of 256 queries, reads `dS` and multiplies it by the
keys. So each of the five products is computed once, and no block adds to a sum in
memory: there are no atomic additions, and the result is bit for bit the same in every
run. In return, `dS` takes up as much memory as the weights would, although only during
the backward pass of one layer.

Without that memory, `STORED` is False: `grads_queries_again` computes `S` and `dP` once
more, for 128 queries, so there are seven products.

`grads_kv` computes `S` and `dP` transposed, with 64 keys per warpgroup and 64 queries
per tile. Then `P.T` and `dS.T` are again left operands in registers. `row_sums` runs
before all of them and writes `delta`.
"""

from numba import cuda, float32, int32, uint8, uint64

from weft.intrinsics import (
    bf16_high,
    bf16_low,
    bulk_commit,
    bulk_copy,
    bulk_wait,
    bulk_wait_read,
    descriptor,
    descriptor_columns,
    exp2,
    fence_async,
    fence_mbarrier_init,
    fence_tensor_map,
    hold,
    hold_words,
    ldmatrix_x4_trans,
    load4,
    mbarrier_arrive,
    mbarrier_arrive_expect_tx,
    mbarrier_init,
    mbarrier_wait,
    named_barrier,
    setmaxnreg_dec,
    setmaxnreg_inc,
    stmatrix_x4,
    tma_load_plane,
    tma_store_plane,
    wgmma_bf16,
    wgmma_bf16_chained,
    wgmma_commit,
    wgmma_fence,
    wgmma_wait,
)

from .forward_kernel import (
    BOX,
    CAUSAL,
    FAR,
    LOG2E,
    ROWS,
    hide,
    load_rows,
    next_stage,
    pack,
    put_rows,
    start_scores,
    start_values,
    two_boxes,
)
from .kernels import FULL

STORED = True  # whether grads_kv stores dS
PART = BOX // 2  # bytes: 64 rows of 64 bfloat16
DEEP = 3  # stages of grads_kv: 64 rows of q and of g each
SIDE = 128  # float32 of a stage: 64 log-sum-exps, 64 deltas
SIDES = DEEP * SIDE
KV_FULL, KV_EMPTY, KV_BARS = 1, 1 + DEEP, 1 + 2 * DEEP
FIRST_DS = (2 + DEEP) * ROWS  # two boxes of dS.T for each warpgroup
KV_SHARED = FIRST_DS + 4 * PART
Q_DEEP = 4  # stages of grads_queries
Q_STAGE = 6 * PART  # bytes: 64 keys, and dS.T of these keys and 256 queries
Q_FULL, Q_EMPTY, Q_BARS = 0, Q_DEEP, 2 * Q_DEEP
Q_SHARED = Q_DEEP * Q_STAGE
AGAIN_SHARED = 2 * ROWS + 4 * ROWS  # two stages of k and v


@cuda.jit(device=True)
def products_of(a, b):
    """Return the sum of the products of two pairs of bfloat16."""
    return bf16_low(a) * bf16_low(b) + bf16_high(a) * bf16_high(b)


@cuda.jit(device=True)
def place_of(row):
    """Return where the number of a row is, so that a thread can load four at once.

    Of 16 rows, a thread of `grads_kv` needs 2t, 2t + 1, 2t + 8 and 2t + 9.
    """
    pair, half = row & int32(6), (row >> int32(3)) & int32(1)
    return (row & int32(-16)) + int32(2) * (pair + half) + (row & int32(1))


@cuda.jit(device=True)
def head_and_block():
    """Return the head and the tile of a block.

    Blocks usually start in the order of their numbers. Then gridDim.x heads take turns:
    tile 0 of each of them, tile 1 of each, and so on.
    """
    heads, first = int32(cuda.gridDim.x), int32(cuda.blockIdx.z)
    return first * heads + int32(cuda.blockIdx.x), int32(cuda.blockIdx.y)


@cuda.jit
def row_sums(o, g, lse, delta, lse2, seq):
    """Write delta, the sums of o * g, and lse in base 2; 16 lanes per row."""
    t, plane = int32(cuda.threadIdx.x), int32(cuda.blockIdx.y)
    row, lane = int32(cuda.blockIdx.x) * int32(16) + t // int32(16), t % int32(16)
    total, base2 = float32(0), -FAR  # beyond the end
    if row < int32(seq):
        a0, a1, a2, a3 = load4(o[plane], (row, int32(4) * lane))
        b0, b1, b2, b3 = load4(g[plane], (row, int32(4) * lane))
        total = products_of(a0, b0) + products_of(a1, b1)
        total += products_of(a2, b2) + products_of(a3, b3)
        base2 = lse[plane, row] * LOG2E
    for step in (8, 4, 2, 1):
        total += cuda.shfl_xor_sync(FULL, total, step)
    if lane == 0:
        row = place_of(row)
        delta[plane, row] = total
        lse2[plane, row] = base2


@cuda.jit(device=True)
def products_64(acc, a, b):
    """Start acc = a @ b.T: 64 rows of 128 numbers, and 64 rows of 128."""
    wgmma_fence()
    for step in range(8):
        left = a + (step // 4 * 1024 + step % 4 * 2)
        right = b + (step // 4 * 512 + step % 4 * 2)
        wgmma_bf16(acc, 64, left, right, int32(step))
    wgmma_commit()


@cuda.jit(device=True)
def chain_64(acc, words, b):
    """Start acc += words @ b: 64 x 64 in registers, and 64 rows of 128."""
    wgmma_fence()
    for step in range(4):
        at = b + 128 * step
        wgmma_bf16_chained(acc, 128, words, 4 * step, at, int32(1))
    wgmma_commit()


@cuda.jit(device=True)
def weights_t(s, side, at, scale):
    """Turn scores.T into weights.T: each column has a log-sum-exp."""
    for i in range(4):
        a, b, c, d = load4(side, at + int32(16 * i))
        s[8 * i] = exp2(s[8 * i] * scale - a)
        s[8 * i + 1] = exp2(s[8 * i + 1] * scale - b)
        s[8 * i + 2] = exp2(s[8 * i + 2] * scale - a)
        s[8 * i + 3] = exp2(s[8 * i + 3] * scale - b)
        s[8 * i + 4] = exp2(s[8 * i + 4] * scale - c)
        s[8 * i + 5] = exp2(s[8 * i + 5] * scale - d)
        s[8 * i + 6] = exp2(s[8 * i + 6] * scale - c)
        s[8 * i + 7] = exp2(s[8 * i + 7] * scale - d)


@cuda.jit(device=True)
def clear_t(s, query, key):
    """Clear the weights of keys that come after the query."""
    for i in range(8):
        c = query + int32(8 * i)
        if c < key:
            s[4 * i] = float32(0)
        if c + int32(1) < key:
            s[4 * i + 1] = float32(0)
        if c < key + int32(8):
            s[4 * i + 2] = float32(0)
        if c + int32(1) < key + int32(8):
            s[4 * i + 3] = float32(0)


@cuda.jit(device=True)
def grads_t(dp, p, side, at):
    """dP.T becomes dS.T: each column has a delta."""
    for i in range(4):
        a, b, c, d = load4(side, at + int32(16 * i))
        dp[8 * i] = (dp[8 * i] - a) * p[8 * i]
        dp[8 * i + 1] = (dp[8 * i + 1] - b) * p[8 * i + 1]
        dp[8 * i + 2] = (dp[8 * i + 2] - a) * p[8 * i + 2]
        dp[8 * i + 3] = (dp[8 * i + 3] - b) * p[8 * i + 3]
        dp[8 * i + 4] = (dp[8 * i + 4] - c) * p[8 * i + 4]
        dp[8 * i + 5] = (dp[8 * i + 5] - d) * p[8 * i + 5]
        dp[8 * i + 6] = (dp[8 * i + 6] - c) * p[8 * i + 6]
        dp[8 * i + 7] = (dp[8 * i + 7] - d) * p[8 * i + 7]


@cuda.jit(device=True)
def load_queries_for(
    memory, bars, side, maps, lse2, delta, pad, blocks, j, plane, first
):
    """The producer of grads_kv: k and v once, then q and g tile by tile."""
    map_q, map_k, map_v, map_g = maps
    row = j * int32(128)
    mbarrier_arrive_expect_tx(bars, int32(0), int32(2 * ROWS))
    two_boxes(memory, int32(0), BOX, map_k, row, plane, bars, int32(0))
    two_boxes(memory, int32(ROWS), BOX, map_v, row, plane, bars, int32(0))
    stage, parity = int32(0), int32(1)
    for i in range(first, blocks):
        full, at = int32(KV_FULL) + stage, (stage + int32(2)) * int32(ROWS)
        row, near = int32(i) * int32(64), stage * int32(SIDE)
        mbarrier_wait(bars, int32(KV_EMPTY) + stage, parity)
        mbarrier_arrive_expect_tx(bars, full, int32(ROWS + 512))
        two_boxes(memory, at, PART, map_q, row, plane, bars, full)
        at += int32(BOX)
        two_boxes(memory, at, PART, map_g, row, plane, bars, full)
        far = plane * pad + row
        bulk_copy(side, near, lse2, far, int32(256), bars, full)
        near += int32(64)
        bulk_copy(side, near, delta, far, int32(256), bars, full)
        stage, parity = next_stage(stage, parity, DEEP)


@cuda.jit(device=True)
def put_grads(memory, at, words):
    """Store 64 x 64 numbers of a warpgroup to a box; `at` is this lane's first row."""
    for i in range(4):
        stmatrix_x4(
            memory,
            at ^ int32(32 * i),  # two pieces of 16 bytes further, with the swizzle
            words[4 * i],
            words[4 * i + 1],
            words[4 * i + 2],
            words[4 * i + 3],
        )


@cuda.jit(device=True)
def gather_kv(
    memory,
    bars,
    side,
    map_dk,
    map_dv,
    map_ds,
    scale,
    factor,
    pad,
    blocks,
    j,
    plane,
    first,
    consumer,
):
    """A consumer of grads_kv: dk and dv of 64 keys."""
    s = cuda.local.array(32, float32)
    dp = cuda.local.array(32, float32)
    dk = cuda.local.array(64, float32)
    dv = cuda.local.array(64, float32)
    p = cuda.local.array(16, int32)
    ds = cuda.local.array(16, int32)
    thread = int32(cuda.threadIdx.x) & int32(127)
    lane, col = thread & int32(31), (thread & int32(3)) * int32(2)
    first_key = j * int32(128) + consumer * int32(64)
    row = (thread >> int32(5)) * int32(16)
    key = first_key + row + (lane >> int32(2))
    row += lane & int32(15)
    piece = (lane >> int32(4)) ^ (row & int32(7))
    offset, other = consumer * int32(PART), int32(0)
    box = int32(FIRST_DS) + int32(2) * offset
    spot = row * int32(128) + piece * int32(16)
    for c in range(64):
        dk[c] = float32(0)
        dv[c] = float32(0)
    k, v = descriptor(memory, offset), descriptor(memory, int32(ROWS) + offset)
    stage, parity = int32(0), int32(0)
    mbarrier_wait(bars, int32(0), int32(0))
    for i in range(first, blocks):
        at = (stage + int32(2)) * int32(ROWS)
        near = stage * int32(SIDE) + int32(2) * col
        mbarrier_wait(bars, int32(KV_FULL) + stage, parity)
        products_64(s, k, descriptor(memory, at))
        products_64(dp, v, descriptor(memory, at + int32(BOX)))
        wgmma_wait(1)
        hold(s, 32)
        weights_t(s, side, near, scale)
        if CAUSAL and i < first + 2:
            clear_t(s, int32(i) * int32(64) + col, key)
        pack(p, s, 16)
        g = descriptor_columns(memory, at + int32(BOX), int32(PART))
        chain_64(dv, p, g)
        wgmma_wait(1)
        hold(dp, 32)
        grads_t(dp, s, side, near + int32(64))
        pack(ds, dp, 16)
        q = descriptor_columns(memory, at, int32(PART))
        chain_64(dk, ds, q)

        if STORED:  # meanwhile; one box is filled while the other is stored
            put_grads(memory, box + other + spot, ds)
            fence_async()
            if thread == 0:
                bulk_wait_read(0)
            named_barrier(consumer + int32(1), int32(128))
            if thread == 0:
                to = int32(i) * pad + first_key
                tma_store_plane(map_ds, int32(0), to, plane, memory, box + other)
                bulk_commit()
            other ^= int32(PART)
        wgmma_wait(0)
        hold(dv, 64)
        hold(dk, 64)
        hold_words(p, 16)
        hold_words(ds, 16)
        cuda.syncwarp()  # all lanes have read `side`
        if lane == 0:
            mbarrier_arrive(bars, int32(KV_EMPTY) + stage)
        stage, parity = next_stage(stage, parity, DEEP)
    one, group = float32(1), consumer + int32(1)
    put_rows(
        memory, offset, dk, factor, factor, thread, group, map_dk, first_key, plane
    )
    offset += int32(ROWS)
    put_rows(memory, offset, dv, one, one, thread, group, map_dv, first_key, plane)
    if thread == 0:
        bulk_wait(0)


@cuda.jit(device=True)
def consumer_of(thread):
    """Return the number of a thread's consumer, from 0.

    The compiler does not know that it is the same in a whole warp. After a shuffle it
    does, and keeps what depends on it in uniform registers, where wgmma needs it.
    """
    return cuda.shfl_sync(FULL, (thread >> int32(7)) - int32(1), 0)


@cuda.jit
def grads_kv(
    map_q,
    map_k,
    map_v,
    map_g,
    map_dk,
    map_dv,
    map_ds,
    lse2,
    delta,
    seq,
    pad,
    scale,
    factor,
):
    """Write dk and dv of 128 keys, from all queries that see them, and their dS.T."""
    memory = cuda.shared.array(0, uint8, alignment=1024)
    side = cuda.shared.array(SIDES, float32, alignment=128)
    bars = cuda.shared.array(KV_BARS, uint64)
    t, pad = int32(cuda.threadIdx.x), int32(pad)
    plane, j = head_and_block()
    blocks = (int32(seq) + int32(63)) >> int32(6)
    first = int32(0)
    if CAUSAL:
        first = int32(2) * j
    if t == 0:
        for each in (map_q, map_k, map_v, map_g, map_dk, map_dv, map_ds):
            fence_tensor_map(each)
        mbarrier_init(bars, int32(0), int32(1))
        for i in range(DEEP):
            mbarrier_init(bars, int32(KV_FULL + i), int32(1))
            mbarrier_init(bars, int32(KV_EMPTY + i), int32(8))
        fence_mbarrier_init()
    cuda.syncthreads()

    if t < int32(128):
        setmaxnreg_dec(24)
        if t == 0:
            maps = map_q, map_k, map_v, map_g
            load_queries_for(
                memory,
                bars,
                side,
                maps,
                lse2,
                delta,
                pad,
                blocks,
                j,
                plane,
                first,
            )
    else:
        setmaxnreg_inc(240)
        consumer, scale = consumer_of(t), float32(scale)
        gather_kv(
            memory,
            bars,
            side,
            map_dk,
            map_dv,
            map_ds,
            scale,
            float32(factor),
            pad,
            blocks,
            j,
            plane,
            first,
            consumer,
        )


@cuda.jit(device=True)
def load_keys_for(memory, bars, map_ds, map_k, pad, i, plane, count):
    """The producer of grads_queries: 64 keys at a time, and their dS.T."""
    stage, parity = int32(0), int32(1)
    for c in range(count):
        at, full = stage * int32(Q_STAGE), int32(Q_FULL) + stage
        row = int32(c) * int32(64)
        mbarrier_wait(bars, int32(Q_EMPTY) + stage, parity)
        mbarrier_arrive_expect_tx(bars, full, int32(Q_STAGE))
        two_boxes(memory, at, PART, map_k, row, plane, bars, full)
        at += int32(2 * PART)
        row += int32(4) * i * pad
        for _ in range(4):  # tiles of 64 queries
            tma_load_plane(memory, at, map_ds, int32(0), row, plane, bars, full)
            at += int32(PART)
            row += pad
        stage, parity = next_stage(stage, parity, Q_DEEP)


@cuda.jit(device=True)
def load_grads(ds, words, at):
    """Load 64 x 64 numbers of dS.T from a box, as left operands: 16 rows per warp."""
    lane = int32(cuda.threadIdx.x) & int32(31)
    warp = (int32(cuda.threadIdx.x) >> int32(5)) & int32(3)
    row = (lane & int32(7)) + (lane >> int32(4)) * int32(8)
    piece = warp * int32(2) + ((lane >> int32(3)) & int32(1))
    at += row * int32(32) + (piece ^ (row & int32(7))) * int32(4)
    for i in range(4):
        four = ldmatrix_x4_trans(words, at + int32(512 * i))
        ds[4 * i], ds[4 * i + 1], ds[4 * i + 2], ds[4 * i + 3] = four


@cuda.jit(device=True)
def gather_q(memory, words, bars, map_dq, factor, i, plane, count, consumer):
    """A consumer of grads_queries: dq of 128 queries."""
    dq0 = cuda.local.array(64, float32)
    dq1 = cuda.local.array(64, float32)
    ds0 = cuda.local.array(16, int32)
    ds1 = cuda.local.array(16, int32)
    thread = int32(cuda.threadIdx.x) & int32(127)
    for c in range(64):
        dq0[c] = float32(0)
        dq1[c] = float32(0)
    stage, parity = int32(0), int32(0)
    for _ in range(count):
        at = stage * int32(Q_STAGE)
        mbarrier_wait(bars, int32(Q_FULL) + stage, parity)
        k = descriptor_columns(memory, at, int32(PART))
        at += (int32(2) + int32(2) * consumer) * int32(PART)
        load_grads(ds0, words, at // int32(4))
        load_grads(ds1, words, (at + int32(PART)) // int32(4))
        chain_64(dq0, ds0, k)
        chain_64(dq1, ds1, k)
        wgmma_wait(0)
        hold(dq0, 64)
        hold(dq1, 64)
        hold_words(ds0, 16)
        hold_words(ds1, 16)
        if thread % int32(32) == 0:
            mbarrier_arrive(bars, int32(Q_EMPTY) + stage)
        stage, parity = next_stage(stage, parity, Q_DEEP)
    named_barrier(int32(3), int32(256))  # both consumers have read all stages
    group, offset = consumer + int32(1), int32(2) * consumer * int32(ROWS)
    row = i * int32(256) + consumer * int32(128)
    put_rows(memory, offset, dq0, factor, factor, thread, group, map_dq, row, plane)
    offset += int32(ROWS)
    row += int32(64)
    put_rows(memory, offset, dq1, factor, factor, thread, group, map_dq, row, plane)
    if thread == 0:
        bulk_wait(0)


@cuda.jit
def grads_queries(map_ds, map_k, map_dq, seq, pad, factor):
    """Write dq of 256 queries: the products of dS and the keys that they see."""
    memory = cuda.shared.array(0, uint8, alignment=1024)
    words = cuda.shared.array(0, int32, alignment=1024)  # the same bytes
    bars = cuda.shared.array(Q_BARS, uint64)
    t, (plane, i) = int32(cuda.threadIdx.x), head_and_block()
    count = (int32(seq) + int32(63)) >> int32(6)
    if CAUSAL:
        i = int32(cuda.gridDim.y) - int32(1) - i  # the longest first
        count = min(count, int32(4) * i + int32(4))
    if t == 0:
        for each in (map_ds, map_k, map_dq):
            fence_tensor_map(each)
        for b in range(Q_DEEP):
            mbarrier_init(bars, int32(Q_FULL + b), int32(1))
            mbarrier_init(bars, int32(Q_EMPTY + b), int32(8))
        fence_mbarrier_init()
    cuda.syncthreads()

    if t < int32(128):
        setmaxnreg_dec(24)
        if t == 0:
            load_keys_for(memory, bars, map_ds, map_k, int32(pad), i, plane, count)
    else:
        setmaxnreg_inc(240)
        consumer, factor = consumer_of(t), float32(factor)
        if CAUSAL:  # the first 128 queries do not see the last tiles of keys
            count = min(count, int32(4) * i + int32(2) * consumer + int32(2))
        gather_q(memory, words, bars, map_dq, factor, i, plane, count, consumer)


@cuda.jit(device=True)
def load_keys_and_values(memory, bars, maps, i, plane, count):
    """The producer of grads_queries_again: q and g once, then k and v."""
    map_q, map_k, map_v, map_g = maps
    row = i * int32(128)
    mbarrier_arrive_expect_tx(bars, int32(0), int32(2 * ROWS))
    two_boxes(memory, int32(0), BOX, map_q, row, plane, bars, int32(0))
    two_boxes(memory, int32(ROWS), BOX, map_g, row, plane, bars, int32(0))
    stage, parity = int32(0), int32(1)
    for j in range(count):
        at, row = (int32(2) + stage) * int32(ROWS), int32(j) * int32(128)
        mbarrier_wait(bars, int32(5) + stage, parity)
        load_rows(memory, at, BOX, map_k, row, plane, bars, int32(1) + stage)
        at += int32(2 * ROWS)
        mbarrier_wait(bars, int32(7) + stage, parity)
        load_rows(memory, at, BOX, map_v, row, plane, bars, int32(3) + stage)
        stage, parity = next_stage(stage, parity, 2)


@cuda.jit(device=True)
def weights_of(s, scale, lse, k):
    """Turn the scores of a row into weights, given its log-sum-exp."""
    for c in range(16):
        s[4 * c + k] = exp2(s[4 * c + k] * scale - lse)
        s[4 * c + k + 1] = exp2(s[4 * c + k + 1] * scale - lse)


@cuda.jit(device=True)
def grads_of(dp, p, delta, k):
    """dP of a row becomes dS."""
    for c in range(16):
        dp[4 * c + k] = (dp[4 * c + k] - delta) * p[4 * c + k]
        dp[4 * c + k + 1] = (dp[4 * c + k + 1] - delta) * p[4 * c + k + 1]


@cuda.jit(device=True)
def gather_q_again(
    memory, bars, map_dq, lse2, delta, scale, factor, i, plane, count, consumer
):
    """A consumer of grads_queries_again: dq of 64 queries."""
    s = cuda.local.array(64, float32)
    dp = cuda.local.array(64, float32)
    dq = cuda.local.array(64, float32)
    ds = cuda.local.array(32, int32)
    thread = int32(cuda.threadIdx.x) & int32(127)
    lane, col = thread & int32(31), (thread & int32(3)) * int32(2)
    first_row = i * int32(128) + consumer * int32(64)
    row = first_row + (thread >> int32(5)) * int32(16) + (lane >> int32(2))
    offset = consumer * int32(BOX // 2)
    for c in range(64):
        dq[c] = float32(0)
    near, far = place_of(row), place_of(row + int32(8))
    lse0, lse1 = lse2[plane, near], lse2[plane, far]
    delta0, delta1 = delta[plane, near], delta[plane, far]
    q, g = descriptor(memory, offset), descriptor(memory, int32(ROWS) + offset)
    stage, parity = int32(0), int32(0)
    mbarrier_wait(bars, int32(0), int32(0))
    for j in range(count):
        at = (int32(2) + stage) * int32(ROWS)
        mbarrier_wait(bars, int32(1) + stage, parity)
        start_scores(s, q, descriptor(memory, at))
        mbarrier_wait(bars, int32(3) + stage, parity)
        start_scores(dp, g, descriptor(memory, at + int32(2 * ROWS)))
        wgmma_wait(1)
        hold(s, 64)
        if CAUSAL and j == count - 1:
            hide(s, int32(j) * int32(128) + col, row, row, 128)
        weights_of(s, scale, lse0, 0)
        weights_of(s, scale, lse1, 2)
        wgmma_wait(0)
        hold(dp, 64)
        if thread == 0:
            mbarrier_arrive(bars, int32(7) + stage)
        grads_of(dp, s, delta0, 0)
        grads_of(dp, s, delta1, 2)
        pack(ds, dp, 32)
        start_values(dq, ds, descriptor_columns(memory, at, int32(BOX)))
        wgmma_wait(0)
        hold(dq, 64)
        hold_words(ds, 32)
        if thread == 0:
            mbarrier_arrive(bars, int32(5) + stage)
        stage, parity = next_stage(stage, parity, 2)
    put_rows(
        memory,
        offset,
        dq,
        factor,
        factor,
        thread,
        consumer + int32(1),
        map_dq,
        first_row,
        plane,
    )
    if thread == 0:
        bulk_wait(0)


@cuda.jit
def grads_queries_again(
    map_q, map_k, map_v, map_g, map_dq, lse2, delta, seq, scale, factor
):
    """Write dq of 128 queries from all keys that they see, without a stored dS."""
    memory = cuda.shared.array(0, uint8, alignment=1024)
    bars = cuda.shared.array(9, uint64)
    t, (plane, i) = int32(cuda.threadIdx.x), head_and_block()
    count = (int32(seq) + int32(127)) >> int32(7)
    if CAUSAL:
        i = int32(cuda.gridDim.y) - int32(1) - i  # the longest first
        count = i + int32(1)
    if t == 0:
        for each in (map_q, map_k, map_v, map_g, map_dq):
            fence_tensor_map(each)
        mbarrier_init(bars, int32(0), int32(1))
        for b in range(4):
            mbarrier_init(bars, int32(1 + b), int32(1))
            mbarrier_init(bars, int32(5 + b), int32(2))
        fence_mbarrier_init()
    cuda.syncthreads()

    if t < int32(128):
        setmaxnreg_dec(24)
        if t == 0:
            maps = map_q, map_k, map_v, map_g
            load_keys_and_values(memory, bars, maps, i, plane, count)
    else:
        setmaxnreg_inc(240)
        consumer, scale, factor = consumer_of(t), float32(scale), float32(factor)
        gather_q_again(
            memory, bars, map_dq, lse2, delta, scale, factor, i, plane, count, consumer
        )
