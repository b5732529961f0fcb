"""Attention at full speed: the TMA and `wgmma`, from chapter 22.

`attend` uses the algorithm of exercise 6, with these changes:

- a **warpgroup** of 4 warps multiplies 64 queries by a tile of keys with 8
  instructions; two warpgroups share the tiles of keys and values of a block, so a block
  computes 128 queries. A tile has 128 keys, or 160 in long sequences;
- one thread, the **producer**, copies tiles into two stages with the TMA, and does
  nothing else. For the TMA each head is a separate matrix: rows beyond its end are
  loaded as zeros, and they are not stored;
- the weights remain in registers and are the left operand of the next `wgmma`, exactly
  as in exercise 6;
- a warpgroup computes the softmax while products are running. It starts the scores of
  the next tile and the second product of the current tile, and then computes the
  softmax of the next tile;
- the output is scaled only when it has to be. The maximum of a row may be up to 8 too
  small, in base 2. The weights are then at most 256 instead of 1, which makes their
  relative errors no larger. So most tiles leave the maximum and the output as they are;
- only the tiles that need a mask get one, and tiles that are entirely hidden are
  skipped;
- without a mask, only those keys of a sequence's last tile are computed that exist,
  rounded up to a multiple of 16 (`SHORT`), unless it is also the first tile of an item;
- the 132 blocks are persistent: each computes one tile of the output after the other. A
  block gets the number of its next tile from a counter in global memory. The last block
  to finish resets the counter to zero;
- with a causal mask, the tiles of several heads are sorted by length together, so that
  the last tiles of a launch are short (`TOGETHER`);
- without a mask, there may be too few tiles for all blocks in the last round. If many
  blocks would be idle, each of these tiles is cut into four parts, and `join_parts`
  adds them up (`CUTS`).

Read `attend_tiles` first. The other functions load, store and count.
"""

import math

from numba import cuda, float32, int32, uint8, uint64
from numba.cuda import libdevice

from weft.intrinsics import (
    bf16_pair,
    bulk_commit,
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

from .kernels import FULL, LN2

CAUSAL = False
KEYS = 128  # of a tile; `key_sizes` returns the constants that follow
SCORES, WEIGHTS, STEPS, KEY_BOX = 64, 32, 8, 16384
BEFORE_WAIT, RARELY = 1, 1  # 0 leaves a change out: see `finish` and `soften`
TOGETHER = 1  # heads whose tiles are sorted by length together: see `of_tile`
CUTS = 1  # parts of each tile from `whole` on
PART = 68  # numbers of a thread for a part: 64 sums, and top and weight of two rows
ITEM = 5  # integers of an item: head, block of queries, first tile, end, part
ITEMS = 2 * ITEM
SHORT = 128  # keys of the last tile of a sequence that are computed: see `short_keys`
SLACK = float32(8)
FAR = float32(-1e30)
LOG2E = float32(math.log2(math.e))
STAGES = 2
BOX = 16384  # bytes: 128 rows of 64 bfloat16
ROWS = 2 * BOX  # bytes: 128 rows of 128 bfloat16, two boxes
FIRST_K = 2 * ROWS  # after two tiles of queries
FIRST_V = FIRST_K + STAGES * 2 * KEY_BOX
Q_FULL, Q_EMPTY, K_FULL, K_EMPTY = 0, 2, 4, 4 + STAGES
V_FULL, V_EMPTY, BARS = 4 + 2 * STAGES, 4 + 3 * STAGES, 4 + 4 * STAGES


def key_sizes(keys):
    """Return the constants for tiles of `keys` keys, and bytes of shared memory."""
    box = 128 * keys
    sizes = {
        "KEYS": keys,
        "SCORES": keys // 2,  # of a thread
        "WEIGHTS": keys // 4,  # words of two
        "STEPS": keys // 16,
        "SHORT": keys,
        "KEY_BOX": box,
        "FIRST_V": FIRST_K + STAGES * 2 * box,
    }
    return sizes, sizes["FIRST_V"] + STAGES * 2 * box


def short_keys(seq, keys, causal):
    """Return how many keys of a sequence's last tile are computed: 16, 32, ..., `keys`.

    With a causal mask, the last tile of a block of queries begins at different keys, so
    all of it is computed.
    """
    return keys if causal else ((seq - 1) % keys // 16 + 1) * 16


@cuda.jit(device=True)
def load_rows(memory, at, size, stack, row, plane, bars, s):
    """Start to load rows of one head, two boxes of `size` bytes, and announce them."""
    mbarrier_arrive_expect_tx(bars, s, int32(2 * size))
    two_boxes(memory, at, size, stack, row, plane, bars, s)


@cuda.jit(device=True)
def two_boxes(memory, at, size, stack, row, plane, bars, s):
    """Start to load the left and the right 64 numbers of some rows."""
    tma_load_plane(memory, at, stack, int32(0), row, plane, bars, s)
    at += int32(size)
    tma_load_plane(memory, at, stack, int32(64), row, plane, bars, s)


@cuda.jit(device=True)
def next_stage(stage, parity, stages):
    """Return the stage and the parity of the next tile in the ring."""
    stage += int32(1)
    if stage == int32(stages):
        return int32(0), parity ^ int32(1)
    return stage, parity


@cuda.jit(device=True)
def start_scores(s, q, k):
    """Start s = q @ k.T: 64 rows of 128 numbers, and a tile of keys."""
    wgmma_fence()
    for step in range(8):
        left = q + (step // 4 * 1024 + step % 4 * 2)
        right = k + (step // 4 * (KEY_BOX // 16) + step % 4 * 2)
        wgmma_bf16(s, KEYS, left, right, int32(step))
    wgmma_commit()


@cuda.jit(device=True)
def start_last_scores(s, q, k):
    """Do the same for the last tile of a sequence, of which SHORT keys are computed."""
    wgmma_fence()
    for step in range(8):
        left = q + (step // 4 * 1024 + step % 4 * 2)
        right = k + (step // 4 * (KEY_BOX // 16) + step % 4 * 2)
        wgmma_bf16(s, SHORT, left, right, int32(step))
    wgmma_commit()


@cuda.jit(device=True)
def start_values(o, words, v):
    """Start o += words @ v: the weights, in registers, of 64 rows, and a tile of v."""
    wgmma_fence()
    for step in range(STEPS):
        at = v + 128 * step
        wgmma_bf16_chained(o, 128, words, 4 * step, at, int32(1))
    wgmma_commit()


@cuda.jit(device=True)
def start_last_values(o, words, v):
    """Do the same for the last tile of a sequence, of which SHORT keys are computed."""
    wgmma_fence()
    for step in range(SHORT // 16):
        at = v + 128 * step
        wgmma_bf16_chained(o, 128, words, 4 * step, at, int32(1))
    wgmma_commit()


@cuda.jit(device=True)
def hide(s, col, row, seq, keys):
    """Hide the keys, of a tile of `keys`, that rows `row` and row + 8 do not see."""
    last0, last1 = int32(seq - int32(1)), int32(seq - int32(1))
    if CAUSAL:
        last0, last1 = int32(row), int32(row + int32(8))
    for i in range(keys // 8):
        c = int32(col + int32(8 * i))
        if c > last0:
            s[4 * i] = FAR
        if c + int32(1) > last0:
            s[4 * i + 1] = FAR
        if c > last1:
            s[4 * i + 2] = FAR
        if c + int32(1) > last1:
            s[4 * i + 3] = FAR


@cuda.jit(device=True)
def row_max(s, k, keys):
    """Return the largest score of a row of `keys`, over its four lanes."""
    top = s[k]
    for i in range(keys // 8):
        pair = libdevice.fmaxf(s[4 * i + k], s[4 * i + k + 1])
        top = libdevice.fmaxf(top, pair)
    top = libdevice.fmaxf(top, cuda.shfl_xor_sync(FULL, top, 1))
    return libdevice.fmaxf(top, cuda.shfl_xor_sync(FULL, top, 2))


@cuda.jit(device=True)
def soften(s, top, weight, scale, k, keys):
    """Turn a row of `keys` scores into weights; return top, weight and factor.

    RARELY: whether to keep top until a score exceeds it by more than SLACK.
    """
    highest = libdevice.fmaxf(top, row_max(s, k, keys) * scale)
    if RARELY and highest - top <= SLACK:
        highest = top
    factor = exp2(top - highest)
    total = float32(0)
    for i in range(keys // 8):
        s[4 * i + k] = exp2(s[4 * i + k] * scale - highest)
        s[4 * i + k + 1] = exp2(s[4 * i + k + 1] * scale - highest)
        total += s[4 * i + k] + s[4 * i + k + 1]
    return highest, weight * factor + total, factor


@cuda.jit(device=True)
def finish(x):
    """Compute x, which is never negative, before what follows.

    The compiler does not know that this branch is never taken, so it has to compute x
    before it. Without the branch, it moves the next `wgmma_wait` ahead of the weights.
    """
    if x < float32(0):
        bulk_wait_read(0)


@cuda.jit(device=True)
def scale_output(o, factor0, factor1):
    """Multiply two rows of the output by the factors of their weights."""
    for c in range(16):
        o[4 * c] *= factor0
        o[4 * c + 1] *= factor0
        o[4 * c + 2] *= factor1
        o[4 * c + 3] *= factor1


@cuda.jit(device=True)
def pack(words, s, count):
    """Round pairs of numbers to words of two bfloat16."""
    for i in range(count):
        words[i] = bf16_pair(s[2 * i], s[2 * i + 1])


@cuda.jit(device=True)
def put_rows(memory, at, acc, f0, f1, thread, group, stack, row, plane):
    """Scale 64 rows of sums and start to store them, through shared memory."""
    lane = thread & int32(31)
    row_in_tile = ((thread >> int32(5)) << int32(4)) + (lane & int32(15))
    named_barrier(group, int32(128))
    for i in range(8):
        piece = ((lane >> int32(4)) + int32(i % 4 * 2)) ^ (row_in_tile & int32(7))
        inside = row_in_tile * int32(128) + piece * int32(16)
        stmatrix_x4(
            memory,
            at + int32(i // 4 * BOX) + inside,
            bf16_pair(acc[8 * i] * f0, acc[8 * i + 1] * f0),
            bf16_pair(acc[8 * i + 2] * f1, acc[8 * i + 3] * f1),
            bf16_pair(acc[8 * i + 4] * f0, acc[8 * i + 5] * f0),
            bf16_pair(acc[8 * i + 6] * f1, acc[8 * i + 7] * f1),
        )
    fence_async()
    named_barrier(group, int32(128))
    if thread == 0:
        tma_store_plane(stack, int32(0), row, plane, memory, at)
        at += int32(BOX)
        tma_store_plane(stack, int32(64), row, plane, memory, at)
        bulk_commit()


@cuda.jit(device=True)
def of_tile(tile, blocks, planes, seq):
    """Return the head, the block of queries, and its number of key tiles."""
    if not CAUSAL:
        plane = tile // blocks
        return plane, tile - plane * blocks, tiles_of_keys(seq)
    # TOGETHER heads at a time: the longest block of each, then the next of each
    first = tile // (int32(TOGETHER) * blocks) * int32(TOGETHER)
    heads = min(int32(TOGETHER), planes - first)
    tile -= first * blocks
    i = tile // heads
    plane = first + tile - i * heads
    i = blocks - int32(1) - i
    return plane, i, tiles_of_keys((i + int32(1)) * int32(128))


@cuda.jit(device=True)
def tiles_of_keys(end):
    """Return the number of tiles of keys before row `end`."""
    return int32((end + int32(KEYS - 1)) // int32(KEYS))


@cuda.jit(device=True)
def load_tiles(
    memory, bars, items, counter, map_q, map_k, map_v, seq, blocks, planes, whole
):
    """The producer: queries, keys and values of one item after the other.

    An item is a tile of the output or, from tile `whole` on, one of its CUTS parts.
    """
    stage, parity = int32(0), int32(1)
    b, q_parity = int32(0), int32(1)
    n, end = int32(cuda.blockIdx.x), whole
    if CUTS > 1:
        end += (blocks * planes - whole) * int32(CUTS)
    while n < end:
        tile, part, first = n, int32(-1), int32(0)
        if CUTS > 1 and n >= whole:
            part = n - whole
            tile = whole + part // int32(CUTS)
        plane, i, last = of_tile(tile, blocks, planes, seq)
        if CUTS > 1 and n >= whole:
            cut, count = part % int32(CUTS), last
            first = cut * count // int32(CUTS)
            last = (cut + int32(1)) * count // int32(CUTS)
        mbarrier_wait(bars, int32(Q_EMPTY) + b, q_parity)
        item = b * int32(ITEM)
        items[item] = plane
        items[item + 1] = i
        items[item + 2] = first
        items[item + 3] = last
        items[item + 4] = part
        at, row = b * int32(ROWS), i * int32(128)
        load_rows(memory, at, BOX, map_q, row, plane, bars, int32(Q_FULL) + b)
        for j in range(first, last):
            at, row = stage * int32(2 * KEY_BOX), int32(j) * int32(KEYS)
            at_k, at_v = int32(FIRST_K) + at, int32(FIRST_V) + at
            full = int32(K_FULL) + stage
            mbarrier_wait(bars, int32(K_EMPTY) + stage, parity)
            load_rows(memory, at_k, KEY_BOX, map_k, row, plane, bars, full)
            full = int32(V_FULL) + stage
            mbarrier_wait(bars, int32(V_EMPTY) + stage, parity)
            load_rows(memory, at_v, KEY_BOX, map_v, row, plane, bars, full)
            stage, parity = next_stage(stage, parity, STAGES)
        b, q_parity = next_stage(b, q_parity, 2)
        n = int32(cuda.gridDim.x) + int32(cuda.atomic.add(counter, 0, 1))
    mbarrier_wait(bars, int32(Q_EMPTY) + b, q_parity)
    items[b * int32(ITEM)] = -1  # no more
    mbarrier_arrive(bars, int32(Q_FULL) + b)
    if cuda.atomic.add(counter, 1, 1) == int32(cuda.gridDim.x) - int32(1):
        counter[0] = 0
        counter[1] = 0


@cuda.jit(device=True)
def keep_part(parts, part, o, top0, weight0, top1, weight1):
    """Store a thread's sums, maxima and weights of a part, for `join_parts`."""
    at = int32(cuda.threadIdx.x) - int32(128)
    for c in range(64):
        parts[part, c, at] = o[c]
    parts[part, 64, at] = top0
    parts[part, 65, at] = weight0
    parts[part, 66, at] = top1
    parts[part, 67, at] = weight1


@cuda.jit(device=True)
def next_tile(
    memory,
    bars,
    s,
    o,
    p,
    q,
    stage,
    parity,
    thread,
    key,
    keys,
    col,
    row,
    seq,
    seen,
    scale,
    top0,
    weight0,
    top1,
    weight1,
):
    """Start the scores of the next tile and the values of this one.

    Then turns the scores into weights, and scales the output if necessary. The next
    tile begins at key `key`, and its first `keys` keys are computed (KEYS or SHORT).
    Returns its stage and parity, and for both rows the maximum and the weights' sum.
    """
    old, old_parity = stage, parity
    stage, parity = next_stage(stage, parity, STAGES)
    k = descriptor(memory, int32(FIRST_K) + stage * int32(2 * KEY_BOX))
    mbarrier_wait(bars, int32(K_FULL) + stage, parity)
    if keys == KEYS:
        start_scores(s, q, k)
    else:
        start_last_scores(s, q, k)
    at = int32(FIRST_V) + old * int32(2 * KEY_BOX)
    mbarrier_wait(bars, int32(V_FULL) + old, old_parity)
    start_values(o, p, descriptor_columns(memory, at, int32(KEY_BOX)))
    wgmma_wait(1)  # the scores
    hold(s, SCORES)
    if thread == 0:
        mbarrier_arrive(bars, int32(K_EMPTY) + stage)
    if seen < key + int32(keys):
        hide(s, key + col, row, seq, keys)
    top0, weight0, factor0 = soften(s, top0, weight0, scale, 0, keys)
    top1, weight1, factor1 = soften(s, top1, weight1, scale, 2, keys)
    if BEFORE_WAIT:
        finish(weight0 + weight1)
    wgmma_wait(0)  # the values
    hold(o, 64)
    hold_words(p, WEIGHTS)
    if thread == 0:
        mbarrier_arrive(bars, int32(V_EMPTY) + old)
    one = float32(1)
    changed = (factor0 != one) | (factor1 != one)
    if not RARELY or cuda.any_sync(FULL, changed):
        scale_output(o, factor0, factor1)
    pack(p, s, keys // 4)
    return stage, parity, top0, weight0, top1, weight1


@cuda.jit(device=True)
def attend_tiles(
    memory,
    bars,
    items,
    map_o,
    lse,
    parts,
    seq,
    scale,
    consumer,
):
    """A consumer: 64 rows of the output, for one item after the other."""
    s = cuda.local.array(SCORES, float32)
    o = cuda.local.array(64, float32)
    p = cuda.local.array(WEIGHTS, int32)
    thread = int32(cuda.threadIdx.x) & int32(127)
    lane, row_in_tile = thread & int32(31), consumer * int32(64)
    row_in_tile += (thread >> int32(5)) * int32(16) + (lane >> int32(2))
    col = (lane & int32(3)) * int32(2)
    stage, parity = int32(0), int32(0)
    b, q_parity = int32(0), int32(0)

    done = int32(0)

    mbarrier_wait(bars, int32(Q_FULL), int32(0))
    plane = items[0]
    while plane >= int32(0):
        item = b * int32(ITEM)
        i, first = items[item + 1], items[item + 2]
        last, part = items[item + 3], items[item + 4]
        row = i * int32(128) + row_in_tile
        offset = b * int32(ROWS) + consumer * int32(BOX // 2)
        q = descriptor(memory, offset)
        seen = seq  # all rows see the keys before
        if CAUSAL:
            seen = i * int32(128) + consumer * int32(64) + int32(1)
        top0, top1 = FAR, FAR
        weight0, weight1 = float32(0), float32(0)
        for c in range(64):
            o[c] = float32(0)

        # the first tile of keys: its scores and weights
        k = descriptor(memory, int32(FIRST_K) + stage * int32(2 * KEY_BOX))
        mbarrier_wait(bars, int32(K_FULL) + stage, parity)
        start_scores(s, q, k)
        wgmma_wait(0)
        hold(s, SCORES)
        if thread == 0:
            mbarrier_arrive(bars, int32(K_EMPTY) + stage)
            if done > int32(0):
                bulk_wait_read(0)  # the output before has left its place
                mbarrier_arrive(bars, int32(Q_EMPTY) + (b ^ int32(1)))
        key = first * int32(KEYS)
        if seen < key + int32(KEYS):
            hide(s, key + col, row, seq, KEYS)
        top0, weight0, _ = soften(s, top0, weight0, scale, 0, KEYS)
        top1, weight1, _ = soften(s, top1, weight1, scale, 2, KEYS)
        pack(p, s, WEIGHTS)

        # the following tiles; a short last one has its own code
        short = SHORT < KEYS and last - first > int32(1) and last == tiles_of_keys(seq)
        for j in range(first + int32(1), last - int32(short)):
            key = int32(j) * int32(KEYS)
            stage, parity, top0, weight0, top1, weight1 = next_tile(
                memory,
                bars,
                s,
                o,
                p,
                q,
                stage,
                parity,
                thread,
                key,
                KEYS,
                col,
                row,
                seq,
                seen,
                scale,
                top0,
                weight0,
                top1,
                weight1,
            )
        if short:
            key = (last - int32(1)) * int32(KEYS)
            stage, parity, top0, weight0, top1, weight1 = next_tile(
                memory,
                bars,
                s,
                o,
                p,
                q,
                stage,
                parity,
                thread,
                key,
                SHORT,
                col,
                row,
                seq,
                seen,
                scale,
                top0,
                weight0,
                top1,
                weight1,
            )

        # the values of the last tile, and the output
        mbarrier_wait(bars, int32(V_FULL) + stage, parity)
        at = int32(FIRST_V) + stage * int32(2 * KEY_BOX)
        v = descriptor_columns(memory, at, int32(KEY_BOX))
        if short:
            start_last_values(o, p, v)
        else:
            start_values(o, p, v)
        for lanes in (1, 2):
            weight0 += cuda.shfl_xor_sync(FULL, weight0, lanes)
            weight1 += cuda.shfl_xor_sync(FULL, weight1, lanes)
        wgmma_wait(0)
        hold(o, 64)
        hold_words(p, WEIGHTS)
        if thread == 0:
            mbarrier_arrive(bars, int32(V_EMPTY) + stage)
        stage, parity = next_stage(stage, parity, STAGES)
        if CUTS > 1 and part >= int32(0):
            keep_part(parts, part, o, top0, weight0, top1, weight1)
            named_barrier(consumer + int32(1), int32(128))  # all have read the item
        else:
            f0, f1 = float32(1) / weight0, float32(1) / weight1
            start, group = i * int32(128) + consumer * int32(64), consumer + int32(1)
            put_rows(memory, offset, o, f0, f1, thread, group, map_o, start, plane)
            if col == 0:
                put_lse(lse, plane, row, seq, top0, weight0)
                put_lse(lse, plane, row + int32(8), seq, top1, weight1)

        b, q_parity = next_stage(b, q_parity, 2)
        done += int32(1)
        mbarrier_wait(bars, int32(Q_FULL) + b, q_parity)
        plane = items[b * int32(ITEM)]
    if thread == 0:
        bulk_wait(0)


@cuda.jit(device=True)
def put_lse(lse, plane, row, seq, top, weight):
    """Write the log-sum-exp of a row; very large for one beyond the end."""
    found = (top + libdevice.log2f(weight)) * LN2
    lse[plane, row] = found if row < seq else -FAR


@cuda.jit
def attend(
    map_q,
    map_k,
    map_v,
    map_o,
    lse,
    counter,
    parts,
    seq,
    planes,
    whole,
    scale,
):
    """Attention of each head: TMA and wgmma, 3 warpgroups per block."""
    memory = cuda.shared.array(0, uint8, alignment=1024)
    bars = cuda.shared.array(BARS, uint64)
    items = cuda.shared.array(ITEMS, int32)
    t = int32(cuda.threadIdx.x)
    blocks = (int32(seq) + int32(127)) >> int32(7)
    if t == 0:
        for each in (map_q, map_k, map_v, map_o):
            fence_tensor_map(each)
        for b in range(2):
            mbarrier_init(bars, int32(Q_FULL + b), int32(1))
            mbarrier_init(bars, int32(Q_EMPTY + b), int32(2))
        for i in range(STAGES):
            mbarrier_init(bars, int32(K_FULL + i), int32(1))
            mbarrier_init(bars, int32(K_EMPTY + i), int32(2))
            mbarrier_init(bars, int32(V_FULL + i), int32(1))
            mbarrier_init(bars, int32(V_EMPTY + i), int32(2))
        fence_mbarrier_init()
    cuda.syncthreads()

    if t < int32(128):
        setmaxnreg_dec(40)
        if t == 0:
            load_tiles(
                memory,
                bars,
                items,
                counter,
                map_q,
                map_k,
                map_v,
                int32(seq),
                blocks,
                int32(planes),
                int32(whole),
            )
    else:
        setmaxnreg_inc(232)
        consumer = (t >> int32(7)) - int32(1)
        attend_tiles(
            memory,
            bars,
            items,
            map_o,
            lse,
            parts,
            int32(seq),
            float32(scale),
            consumer,
        )


@cuda.jit
def join_parts(parts, out, lse, seq, planes, whole):
    """Add up the parts of the tiles that were cut, and write their rows.

    Block (tile, n) has sums 4n to 4n + 3 of each thread. Its thread t has those that
    thread t of the consumers stored.
    """
    t, tile = int32(cuda.threadIdx.x), int32(cuda.blockIdx.x)
    c, seq = int32(4) * int32(cuda.blockIdx.y), int32(seq)
    top0, top1, weight0, weight1 = FAR, FAR, float32(0), float32(0)
    sums = cuda.local.array(4, float32)
    for k in range(4):
        sums[k] = float32(0)
    for cut in range(CUTS):
        part = tile * int32(CUTS) + int32(cut)
        own0, own1 = parts[part, 64, t], parts[part, 66, t]
        high0, high1 = libdevice.fmaxf(top0, own0), libdevice.fmaxf(top1, own1)
        old0, new0 = exp2(top0 - high0), exp2(own0 - high0)
        old1, new1 = exp2(top1 - high1), exp2(own1 - high1)
        weight0 = weight0 * old0 + parts[part, 65, t] * new0
        weight1 = weight1 * old1 + parts[part, 67, t] * new1
        for k in range(2):
            sums[k] = sums[k] * old0 + parts[part, c + k, t] * new0
            sums[k + 2] = sums[k + 2] * old1 + parts[part, c + k + 2, t] * new1
        top0, top1 = high0, high1

    blocks, lane = (seq + int32(127)) >> int32(7), t & int32(31)
    plane, i, _ = of_tile(int32(whole) + tile, blocks, int32(planes), seq)
    row = i * int32(128) + (t >> int32(5)) * int32(16) + (lane >> int32(2))
    word, f0, f1 = c + (lane & int32(3)), float32(1) / weight0, float32(1) / weight1
    if row < seq:
        out[plane, row, word] = bf16_pair(sums[0] * f0, sums[1] * f0)
    if row + int32(8) < seq:
        out[plane, row + int32(8), word] = bf16_pair(sums[2] * f1, sums[3] * f1)
    if word == int32(0):
        put_lse(lse, plane, row, seq, top0, weight0)
        put_lse(lse, plane, row + int32(8), seq, top1, weight1)
