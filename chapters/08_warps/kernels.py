"""The kernels that the measurements of chapter 8 time, and texts of some of them."""

from numba import cuda, float32, int32

from weft.intrinsics import load4

FULL = 0xFFFFFFFF  # all 32 lanes
WARPS = 8  # in a block of 256

CLUSTER_CPP = """
extern "C" __global__ void next_block(float* out)
{
    __shared__ float mine;
    unsigned rank = __clusterRelativeBlockRank();
    unsigned size = __clusterSizeInBlocks();

    if (threadIdx.x == 0)
        mine = blockIdx.x;
    __cluster_barrier_arrive();
    __cluster_barrier_wait();

    void* theirs = __cluster_map_shared_rank(&mine, (rank + 1) % size);
    if (threadIdx.x == 0)
        out[blockIdx.x] = *(float*)theirs;
    __cluster_barrier_arrive();  // nobody ends while a neighbour reads
    __cluster_barrier_wait();
}

extern "C" __global__ void wait_often(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        __cluster_barrier_arrive();
        __cluster_barrier_wait();
    }
}
"""


def source(paths, each=16):
    """Return the text of a kernel with that many branches of equal length.

    each: multiply-adds per iteration of a branch.
    """
    lines = [
        "def kernel(which, length, out):",
        "    i = cuda.grid(1)",
        "    path = which[i]",
        "    v = float32(i)",
        "",
    ]
    for p in range(paths):
        lines += [
            f"    {'elif' if p else 'if'} path == {p}:",
            "        for _ in range(length):",
            f"            for _ in range({each}):",
            f"                v = v * float32(0.{900 + p}) + float32({p}.5)",
        ]
    return "\n".join([*lines, "", "    out[i] = v", ""])


def compiled(text):
    """Return the kernel that `text` defines."""
    scope = {"cuda": cuda, "float32": float32}
    exec(text, scope)
    return cuda.jit(scope["kernel"])


def two_sides(count):
    """Return the text of a kernel with an if whose sides are `count` long."""
    lines = [
        "def kernel(keys, out):",
        "    i = cuda.grid(1)",
        "    key = keys[i]",
        "    v = float32(i)",
        "",
        "    for r in range(256):",
        "        if (key >> (r & 31)) & 1:",
    ]
    for k in range(count):
        lines += [f"            v = v * float32(0.5) + float32({k}.5)"]
    lines += ["        else:"]
    for k in range(count):
        lines += [f"            v = float32({k}.25) - v * float32(0.75)"]
    return "\n".join([*lines, "", "    out[i] = v", ""])


@cuda.jit
def row_sum(x, out):
    """One thread per row of 32."""
    row = cuda.grid(1)

    value = float32(0)
    for k in range(32):
        value += x[32 * row + k]
    out[row] = value


@cuda.jit
def shared_sum(x, out):
    """One thread per element; they exchange values in shared memory."""
    tile = cuda.shared.array(256, float32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x

    tile[t] = x[i]
    cuda.syncthreads()
    delta = 16
    while delta > 0:
        if t % 32 < delta:
            tile[t] += tile[t + delta]
        cuda.syncthreads()
        delta //= 2
    if t % 32 == 0:
        out[i // 32] = tile[t]


@cuda.jit
def four_sum(x, out):
    """One thread per four elements, eight lanes per row of 32."""
    i = cuda.grid(1)

    a, b, c, d = load4(x, 4 * i)
    value = (a + b) + (c + d)
    for delta in (4, 2, 1):
        value += cuda.shfl_down_sync(FULL, value, delta)
    if i % 8 == 0:
        out[i // 8] = value


@cuda.jit
def sum_by_threads(x, out):
    cuda.atomic.add(out, 0, x[cuda.grid(1)])


@cuda.jit
def sum_by_warps(x, out):
    value = x[cuda.grid(1)]
    for delta in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(FULL, value, delta)
    if cuda.laneid == 0:
        cuda.atomic.add(out, 0, value)


@cuda.jit
def sum_by_blocks(x, out):
    sums = cuda.shared.array(WARPS, float32)
    warp, lane = cuda.threadIdx.x // 32, cuda.threadIdx.x % 32
    value = x[cuda.grid(1)]
    for delta in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(FULL, value, delta)
    if lane == 0:
        sums[warp] = value
    cuda.syncthreads()

    if warp == 0:
        value = sums[lane] if lane < WARPS else float32(0)
        for delta in (4, 2, 1):
            value += cuda.shfl_down_sync(FULL, value, delta)
        if lane == 0:
            cuda.atomic.add(out, 0, value)


@cuda.jit
def filter_by_threads(x, out, count):
    """Each lane that keeps its element asks for a place."""
    i = cuda.grid(1)

    if i < x.size and x[i] > float32(0):
        out[cuda.atomic.add(count, 0, 1)] = x[i]


@cuda.jit
def filter_by_warps(x, out, count):
    """Lane 0 asks for places for the whole warp."""
    i = cuda.grid(1)
    keep = i < x.size and x[i] > float32(0)
    votes = cuda.ballot_sync(FULL, keep)

    first = int32(0)
    if cuda.laneid == 0:
        first = cuda.atomic.add(count, 0, cuda.popc(votes))
    first = cuda.shfl_sync(FULL, first, 0)

    if keep:
        out[first + cuda.popc(votes & cuda.lanemask_lt())] = x[i]


@cuda.jit
def filter_by_blocks(x, out, count):
    """Thread 0 asks for places for the whole block."""
    first = cuda.shared.array(WARPS, int32)
    i = cuda.grid(1)
    warp, lane = cuda.threadIdx.x // 32, cuda.threadIdx.x % 32
    keep = i < x.size and x[i] > float32(0)
    votes = cuda.ballot_sync(FULL, keep)

    if lane == 0:
        first[warp] = cuda.popc(votes)
    cuda.syncthreads()

    if cuda.threadIdx.x == 0:
        total = int32(0)
        for w in range(WARPS):
            total += first[w]
        place = cuda.atomic.add(count, 0, total)
        for w in range(WARPS):
            place, first[w] = place + first[w], place
    cuda.syncthreads()

    if keep:
        out[first[warp] + cuda.popc(votes & cuda.lanemask_lt())] = x[i]


@cuda.jit
def wait_warp():
    for _ in range(1000):
        cuda.syncwarp()


@cuda.jit
def wait_block():
    for _ in range(1000):
        cuda.syncthreads()


@cuda.jit
def wait_grid():
    grid = cuda.cg.this_grid()
    for _ in range(1000):
        grid.sync()
