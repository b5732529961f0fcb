# %% [markdown]
# # 12 · Global memory
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/12_global_memory.ipynb)
#
# **After this lab, you can**
#
# - count by hand the sectors that a warp's load moves, and predict from them how much a
#   stride, a layout or a random order slows a kernel down;
# - say where such a prediction fails, and which counter shows why;
# - copy arrays of any length, 16 bytes at a time, as fast as PyTorch's own copy;
# - turn an array of structs into columns, and gather rows without wasting bytes;
# - measure the latency and the rate of each level: shared memory, L1, L2 and memory;
# - say when constant memory helps and when it makes a kernel slower.
#
# **You need** about 90 minutes. You do not need a GPU: the exercises run in the
# simulator, and without a GPU the measurements show times from the reference GPU, an
# H200. If you use a GPU, it needs compute capability 7.5 or higher and 6 GB of memory.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import numpy as np
from numba import cuda, float32, int32, uint32, uint64

from weft import bench, check, hint, quiz
from weft.intrinsics import load4, load4_cs, load4_nc, store4, store4_cs

weft.lab("12_global_memory")

# %% [markdown]
# ## 1 · Who takes which element?
#
# A copy is the least a kernel can do: every byte is read once and written once. Here
# each thread copies `PIECE` elements. Which elements should it take? The obvious choice
# is eight neighbours, as you would give them to the cores of a CPU: elements 0 to 7 to
# thread 0, elements 8 to 15 to thread 1, and so on. The kernel below does that, and its
# results are right. Run the check and read what it says.
#
# What counts is not what one thread does over time, but what the 32 **lanes** of a
# **warp** do in the same instruction. Memory answers in **sectors** of 32 bytes, and a
# warp's load, a **request**, fetches every sector of which any lane needs a byte.
# Whether the lanes need 4 bytes of a sector or all 32 makes no difference.
#
# | the first load of a warp | addresses | sectors | bytes used |
# | --- | --- | ---: | ---: |
# | eight neighbours per thread | 0, 32, 64, …, 992 | 32 | 128 of 1024 |
# | 32 neighbours per warp | 0, 4, 8, …, 124 | 4 | 128 of 128 |
#
# Fix the kernel. Each thread should still copy eight elements, but in every iteration
# of the loop neighbouring threads should take neighbouring elements. A block should
# still copy `blockDim.x * PIECE` consecutive elements. The check tries blocks of 64 and
# of 96 threads, and allows each thread `PIECE` loads.
#
# ```python
# copy_pieces(x, out)    # (n,) -> (n,)  float32
# ```
#
# Stuck? Run `hint("copy_pieces")`; there are three hints.

# %% tags=["given"]
PIECE = 8


# %% tags=["broken"]
@cuda.jit
def copy_pieces(x, out):
    """Copy x into out, PIECE elements per thread."""
    # BEGIN SOLUTION
    # was: start = cuda.grid(1) * PIECE
    start = cuda.blockIdx.x * cuda.blockDim.x * PIECE + cuda.threadIdx.x
    # END SOLUTION

    for k in range(PIECE):
        # BEGIN SOLUTION
        # was: i = start + k
        i = start + k * cuda.blockDim.x
        # END SOLUTION
        if i < x.size:
            out[i] = x[i]


# %%
check(
    copy_pieces,
    spec=lambda x: x,
    inputs=lambda rng, n: (rng.random(n, np.float32),),
    sizes=[1024, 1, 1000, 4096],
    launch=lambda n: (-(-n // (64 * PIECE)), 64) if n != 1000 else (2, 96),
    full=1 << 24,
    limits={"sectors": 4, "loads": PIECE},
)

# %% [markdown] tags=["solution"]
# Thread `t` takes elements `t`, `t + blockDim.x`, `t + 2 * blockDim.x`, … of its
# block's part. Each thread now jumps about in memory, but that does no harm: what
# counts is the warp, which touches 128 consecutive bytes in every iteration.
#
# The **grid-stride loop** of chapter 5 has this property built in, with the stride of
# the whole grid instead of the block's.

# %% [markdown]
# ## Measure: strides
#
# Now let the lanes drift apart on purpose: thread `i` reads `x[i * s]`, and writes
# `out[i]` as usual. (Each thread handles four such elements, a block apart, with all
# four loads before the first store, so that enough bytes are in flight.)
#
# **Predict first.** Write down how many sectors one load moves at each stride, then let
# Python count them:

# %% tags=["given"]
def sectors(addresses, size=4):
    """Return how many sectors a request for size bytes each moves."""
    return len({(a + k) // 32 for a in addresses for k in range(size)})


# %%
STRIDES = (1, 2, 4, 8, 16, 32)
expected = {}
for s in STRIDES:
    moved = sectors([4 * s * lane for lane in range(32)]) + 4  # 4 more to write
    expected[f"stride {s}"] = 8 / moved  # a copy moves 4 + 4
    print(f"stride {s:2}: {moved:2} sectors, {8 / moved:.2f} of a copy")


# %%
@cuda.jit
def strided_read(x, s, out):
    """out[i] = x[i * s], four elements per thread."""
    i = cuda.blockIdx.x * 1024 + cuda.threadIdx.x
    a, b = x[i * s], x[(i + 256) * s]
    c, d = x[(i + 512) * s], x[(i + 768) * s]
    out[i], out[i + 256] = a, b
    out[i + 512], out[i + 768] = c, d


few = 1 << 25  # elements read and written; at stride 32 they span 4 GiB
grid = few // 1024, 256
if weft.GPU:
    import torch

    big = torch.rand(1 << 30, device="cuda")
    large = torch.empty(1 << 28, device="cuda")  # a quarter of that
    small = large[:few]
    d_big, d_large, d_small = (
        cuda.as_cuda_array(t) for t in (big, large, small)
    )

strides = bench.compare(
    "read with a stride",
    lambda: {"copy": lambda: small.copy_(big[:few])}
    | {
        f"stride {s}": lambda s=s: strided_read[grid](d_big, s, d_small)
        for s in STRIDES
    },
    baseline="copy",
    guess=expected,
)
strides

# %% tags=["solution"]
for s in (1, 2, 4, 8) if len(strides) else ():
    counted, measured = expected[f"stride {s}"], strides[f"stride {s}"].ratio
    print(f"stride {s}: predicted {counted:.2f}, measured {measured:.2f}")
    strides.expect(f"stride {s}", law=counted, within=0.15)
strides.expect("stride 1", at_least=3.5, times="stride 8")
strides.expect("stride 8", at_least=1.6, times="stride 16")

# %% [markdown] tags=["solution"]
# Up to a stride of 8, counting sectors tells you all you need. From 8 on, every lane
# has a sector of its own and the count stays at 32, so the speed should fall no
# further. But it does: at 16 the time nearly doubles once more.
#
# The profiler shows what happens (its numbers are in the chapter). The L1 cache
# requests 32 sectors, as counted, but memory delivers **64 bytes** for each. When a
# sector is missing, L2 fetches its neighbour too. At a stride of 8 the next lane needs
# that neighbour; at 16 no lane does. Counted this way, stride 16 moves 64 + 4 sectors,
# which predicts 0.12 of a copy's speed.
#
# How much L2 fetches is a setting of your program's own CUDA context, or, as CUDA's
# manual says, a hint: `cudaLimitMaxL2FetchGranularity`, 64 by default. Change it for a
# moment:

# %% tags=["solution"]
def fetching(size):
    """Set how many bytes L2 fetches at a time, in this program."""
    if weft.GPU:
        from cuda.bindings import runtime

        limit = runtime.cudaLimit.cudaLimitMaxL2FetchGranularity
        runtime.cudaDeviceSetLimit(limit, size)


fetches = {}
for size in (32, 64, 128):
    fetching(size)
    fetches[size] = bench.compare(
        f"L2 fetches {size} bytes",
        lambda: {
            f"stride {s}": lambda s=s: strided_read[grid](d_big, s, d_small)
            for s in (8, 16, 32)
        },
        baseline="stride 8",
    )
fetching(64)
fetches[32]

# %% tags=["solution"]
fetches[64]

# %% tags=["solution"]
fetches[128]

# %% tags=["solution"]
less, usual, more = (fetches[size] for size in (32, 64, 128))
less.expect("stride 16", at_least=1.3, times="stride 16", of=usual)
usual.expect("stride 32", at_least=1.3, times="stride 32", of=more)
usual.expect(
    "stride 8", at_least=0.9, at_most=1.1, times="stride 8", of=less
)

# %% [markdown] tags=["solution"]
# With 32 bytes instead of 64, stride 16 moves half as much and takes little longer than
# stride 8. With 128 bytes, stride 32 moves twice as much as with 64, and takes 1.7
# times as long on an H200 and 1.8 times as long on an H100. At stride 8, where the
# neighbours are needed, the setting changes nothing.
#
# That leaves stride 32. With 32 bytes it moves as much as stride 16 but takes much
# longer, 1.8 times as long on an H200 and 1.6 times on an H100: there the cost is per
# access, not per byte. *Pages* of the memory chips would explain it, but no counter
# shows them.
#
# And what if the lanes *are* neighbours, but the first does not begin on a boundary? A
# load of `x[i + 1]` touches 5 sectors instead of 4. Counting sectors predicts 8 / 9 of
# a copy's speed.

# %% tags=["solution"]
@cuda.jit
def shifted_read(x, shift, out):
    """out[i] = x[i + shift], four elements per thread."""
    i = cuda.blockIdx.x * 1024 + cuda.threadIdx.x
    k = i + shift
    a, b, c, d = x[k], x[k + 256], x[k + 512], x[k + 768]
    out[i], out[i + 256] = a, b
    out[i + 512], out[i + 768] = c, d


shifts = bench.compare(
    "read with an offset",
    lambda: {
        f"offset {k}": lambda k=k: shifted_read[grid](d_big, k, d_small)
        for k in (0, 1, 8)
    },
    baseline="offset 0",
)
shifts

# %% tags=["solution"]
shifts.expect("offset 1", at_least=0.95)

# %% [markdown] tags=["solution"]
# The offset costs next to nothing. The fifth sector is the next warp's first, so one of
# the two warps finds it in L1 or L2, and memory delivers it once.

# %% [markdown]
# ## Measure: strides, writing
#
# Now store with a stride: `out[i * s] = x[i]`. A lane's store changes 4 bytes of a
# sector, and bytes that no lane stores must stay what they were. How will the table
# differ from the one above?

# %%
@cuda.jit
def strided_write(x, s, out):
    """out[i * s] = x[i], four elements per thread."""
    i = cuda.blockIdx.x * 1024 + cuda.threadIdx.x
    a, b, c, d = x[i], x[i + 256], x[i + 512], x[i + 768]
    out[i * s], out[(i + 256) * s] = a, b
    out[(i + 512) * s], out[(i + 768) * s] = c, d


guess = {f"stride {s}": None for s in (2, 8, 32)}

writes = bench.compare(
    "write with a stride",
    lambda: {"copy": lambda: small.copy_(big[:few])}
    | {
        f"stride {s}": lambda s=s: strided_write[grid](d_small, s, d_big)
        for s in STRIDES
    },
    baseline="copy",
    guess=guess,
)
writes

# %% tags=["solution"]
# A partly written sector is read as well: stride 2 moves 4 + 8 + 8.
for s in (1, 2, 4, 8) if len(writes) else ():
    part = sectors([4 * s * lane for lane in range(32)])
    counted = 8 / (4 + part * (2 if s > 1 else 1))
    measured = writes[f"stride {s}"].ratio
    print(f"stride {s}: predicted {counted:.2f}, measured {measured:.2f}")
    writes.expect(f"stride {s}", law=counted, within=0.15)

# %% [markdown] tags=["solution"]
# Memory with error correction cannot write 4 bytes alone. When a sector is written in
# part, it is read, changed in L2, and written back: 64 bytes of traffic for each
# sector. Counted this way, the predictions for the strides up to 8 are within six per
# cent of the measurements. A sector that is written *whole* need not be read. That
# should be true even if several lanes, or several requests in quick succession, write
# it together.

# %% [markdown]
# ## 2 · Sixteen bytes at a time
#
# `load4(x, i)` reads `x[i]` to `x[i + 3]` in **one** instruction of 128 bits and
# returns four numbers; `store4(out, i, a, b, c, d)` writes four. `i` must be a multiple
# of 4 here, since a 16-byte access has to begin on a 16-byte boundary.
#
# A warp's `load4` is a request for 512 consecutive bytes, 16 sectors, all of them used.
# Such loads are as coalesced as loads of 4 bytes, take a quarter of the instructions,
# and have four times as many bytes in flight per thread.
#
# Write a copy that uses them, for **any** length and **any** launch:
#
# - copy the groups of four in a grid-stride loop;
# - copy the `x.size % 4` elements that are left over, at most three, one by one: a few
#   threads take one each.
#
# Load each element only once, in one thread; the check counts the loads of each thread.
#
# ```python
# copy4(x, out)    # (n,) -> (n,)  float32; any launch
# ```
#
# Stuck? `hint("copy4")`.

# %%
@cuda.jit
def copy4(x, out):
    """Copy x into out, four elements at a time."""
    fours = x.size // 4  # how many groups of four

    # about 6 lines
    # BEGIN SOLUTION
    for i in range(cuda.grid(1), fours, cuda.gridsize(1)):
        a, b, c, d = load4(x, 4 * i)
        store4(out, 4 * i, a, b, c, d)

    i = 4 * fours + cuda.grid(1)
    if i < x.size:
        out[i] = x[i]
    # END SOLUTION


# %%
check(
    copy4,
    spec=lambda x: x,
    inputs=lambda rng, n: (rng.random(n, np.float32),),
    sizes=[512, 1, 3, 1030, 2048],
    launch=lambda n: (2, 64) if n > 512 else (3, 32),
    full=(1 << 24) + 3,
    limits={"sectors": 16, "load_bytes": 16, "store_bytes": 16, "loads": 5},
)

# %% [markdown] tags=["solution"]
# The loop's end is its guard: since `i < fours`, element `4 * i + 3` is always inside
# the array. The leftovers follow the last whole group, so the first one to three
# threads of the grid take them. They take at most three scalar loads in the whole
# launch, and these cost nothing.

# %% [markdown]
# ## Measure: four ways to copy
#
# The array has 2^28 float32, 1 GiB, so a copy moves 2 GiB. `copy_` is PyTorch's
# device-to-device copy.
#
# - `neighbours`: the kernel of exercise 1 before you fixed it, with eight neighbours
#   per thread;
# - `one each`: thread `i` copies element `i`, perfectly coalesced;
# - `four each`: four scalar loads per thread, a block apart, then four stores;
# - `copy4`: your kernel of exercise 2.
#
# All four use every byte they move. How fast is each of them, compared with `copy_`?
# (Until you have done exercise 2, the row `copy4` times a kernel that does nothing,
# quickly.)

# %%
@cuda.jit
def neighbours(x, out):
    """Copy x into out, eight neighbours per thread."""
    start = cuda.grid(1) * 8
    for k in range(8):
        if start + k < x.size:
            out[start + k] = x[start + k]


@cuda.jit
def one_each(x, out):
    """Copy x into out, one element per thread."""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i]


@cuda.jit
def four_each(x, out):
    """Copy x into out, four elements per thread, a block apart."""
    i = cuda.blockIdx.x * 1024 + cuda.threadIdx.x
    a, b, c, d = x[i], x[i + 256], x[i + 512], x[i + 768]
    out[i], out[i + 256] = a, b
    out[i + 512], out[i + 768] = c, d


# %% [markdown]
# In CUDA C++ the four floats have a type, `float4`; the cast promises the compiler that
# the address is a multiple of 16. Here is the same copy in CUDA C++, for a row of its
# own:

# %%
CUDA_CPP = """
extern "C" __global__
void copy4(const float* x, float* out, long long n)
{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    long long all = gridDim.x * (long long)blockDim.x;

    for (long long k = i; k < n / 4; k += all)
        reinterpret_cast<float4*>(out)[k] =
            reinterpret_cast<const float4*>(x)[k];
    if (n / 4 * 4 + i < n)
        out[n / 4 * 4 + i] = x[n / 4 * 4 + i];
}
"""

n = 1 << 28
if weft.on_gpu("NVRTC's machine code needs one"):
    import cuda.core as core

    if not hasattr(core, "Program"):  # older versions have it elsewhere
        import cuda.core.experimental as core

    gpu = core.Device()
    gpu.set_current()
    stream = gpu.default_stream
    options = core.ProgramOptions(arch=weft.device.find().sm)  # sm_90, say
    program = core.Program(CUDA_CPP, code_type="c++", options=options)
    cpp_kernel = program.compile("cubin").get_kernel("copy4")
    config = core.LaunchConfig(grid=n // 512, block=128)
    d_part = cuda.as_cuda_array(big[:n])

    def cpp_copy4():
        pointers = big.data_ptr(), large.data_ptr()
        core.launch(stream, config, cpp_kernel, *pointers, np.int64(n))

    cpp_copy4()
    print("CUDA C++: equal to x?", torch.equal(large, big[:n]))

# %%
guess = {"neighbours": None, "one each": None, "copy4": None}

copies = bench.compare(
    "2^28 float32",
    lambda: {
        "copy_": lambda: large.copy_(big[:n]),
        "neighbours": lambda: neighbours[n // 2048, 256](d_part, d_large),
        "one each": lambda: one_each[n // 256, 256](d_part, d_large),
        "four each": lambda: four_each[n // 1024, 256](d_part, d_large),
        "copy4": lambda: copy4[n // 512, 128](d_part, d_large),
        "CUDA C++": lambda: cpp_copy4(),
    },
    baseline="copy_",
    bytes=2 * 4 * n,
    ceiling="copy_",
    guess=guess,
)
copies

# %% tags=["solution"]
copies.expect("one each", at_least=1.5, times="neighbours")
copies.expect("copy4", at_least=1.3, times="one each")
copies.expect("copy4", ceiling=0.95)

# %% [markdown] tags=["solution"]
# Coalescing gains the most, but it does not bring a kernel to the copy's speed. One
# element per thread is too little. By **Little's law**, the bytes in flight must at
# every moment amount to rate × latency. On an H200 half of a copy's 4.26 TB/s is
# reading, and a load takes about 336 ns (you measure that below), so 0.7 MB must be in
# flight, or 5.4 KB for each of 132 SMs. An SM holds 2048 threads. If each of them waits
# for 4 bytes, 8 KB are in flight, but only while all of them wait. A thread also has to
# start, compute its index, and end.
#
# `four each` shows that the *width* is not what matters here. Four scalar loads before
# the first store also put 16 bytes in flight per thread, and are just as fast. `load4`
# achieves this with a quarter of the instructions. That begins to matter when the data
# come from a level closer than memory, as you will see at the end of section 5.
#
# Now try cache hints. PTX lets a load say that its data will not be used again
# (`ld.global.cs`) or that nothing writes to them while the kernel runs (`ld.global.nc`,
# the *read-only* path). `weft.intrinsics` has both. What do they gain in a copy?

# %% tags=["solution"]
@cuda.jit
def copy4_cs(x, out):
    """copy4 for whole groups, with streaming loads and stores."""
    for i in range(cuda.grid(1), x.size // 4, cuda.gridsize(1)):
        a, b, c, d = load4_cs(x, 4 * i)
        store4_cs(out, 4 * i, a, b, c, d)


@cuda.jit
def copy4_nc(x, out):
    """copy4 for whole groups, with loads through the read-only path."""
    for i in range(cuda.grid(1), x.size // 4, cuda.gridsize(1)):
        a, b, c, d = load4_nc(x, 4 * i)
        store4(out, 4 * i, a, b, c, d)


hints = bench.compare(
    "2^28 float32, with a hint",
    lambda: {
        "copy_": lambda: large.copy_(big[:n]),
        "no hint": lambda: copy4[n // 512, 128](d_part, d_large),
        "cs": lambda: copy4_cs[n // 512, 128](d_part, d_large),
        "nc": lambda: copy4_nc[n // 512, 128](d_part, d_large),
    },
    baseline="no hint",
    bytes=2 * 4 * n,
    ceiling="copy_",
)
hints

# %% tags=["solution"]
hints.expect("no hint", at_least=0.98, times="nc")
hints.expect("no hint", at_least=0.98, times="cs")

# %% [markdown] tags=["solution"]
# The read-only path changes nothing, and streaming costs one or two per cent. A copy
# uses each byte once, so there is nothing that a cache could keep or lose.
#
# That is different where something *is* used again. Now each element of a stream of 1
# GiB needs an entry at a random place in a table of 32 MB. The table fits into L2, as
# long as the stream does not push it out.

# %% tags=["solution"]
@cuda.jit(device=True)
def anywhere(i, size):
    """Return a place below size, a power of two, that looks random."""
    h = uint32(i) * uint32(2654435761)
    return (h ^ (h >> uint32(15))) & uint32(size - 1)


def past_table(load, store):
    """Make a kernel that adds an entry of table to each element of x."""

    @cuda.jit
    def kernel(x, table, out):
        i = 4 * cuda.grid(1)
        a, b, c, d = load(x, i)
        a += table[anywhere(i, table.size)]
        b += table[anywhere(i + 1, table.size)]
        c += table[anywhere(i + 2, table.size)]
        d += table[anywhere(i + 3, table.size)]
        store(out, i, a, b, c, d)

    return kernel


def streams():
    table = cuda.as_cuda_array(big[-(1 << 23) :])
    plain = past_table(load4, store4)
    streaming = past_table(load4_cs, store4_cs)
    return {
        "no hint": lambda: plain[n // 512, 128](d_part, table, d_large),
        "cs": lambda: streaming[n // 512, 128](d_part, table, d_large),
    }


beside = bench.compare(
    "2^28 float32 past a table of 32 MB", streams, baseline="no hint"
)
beside

# %% [markdown] tags=["solution"]
# The streaming hint again changes the speed by a few per cent, but this time for the
# better. Measure before you believe in a hint.

# %% [markdown]
# ## 3 · Structs or columns
#
# A million particles have four float32 each: x, y, z and a mass. You can store them in
# two ways:
#
# - an **array of structs** (AoS): x, y, z, m of particle 0, then those of particle 1,
#   and so on. In an array of shape (n, 4), a row is a particle;
# - a **struct of arrays** (SoA): all x, then all y, and so on. In an array of shape (4,
#   n), a row is a field.
#
# In the first case, a kernel that needs x alone reads every fourth number, with a
# stride of 4. In the second, it reads neighbours.
#
# Convert an array of structs into a struct of arrays. A thread takes one particle,
# whose four numbers are 16 consecutive bytes and begin on a boundary of 16. So one
# `load4(p, (row, column))` fetches them, and the whole warp uses all of its 16 sectors.
# Then come four stores, one into each row of `out`, each of them coalesced.
#
# ```python
# to_columns(p, out)    # (n, 4) -> (4, n)  float32
# ```
#
# Stuck? `hint("to_columns")`.

# %%
@cuda.jit
def to_columns(p, out):
    """Turn an array of structs p (n, 4) into columns out (4, n)."""
    i = cuda.grid(1)

    # about 6 lines
    # BEGIN SOLUTION
    if i < p.shape[0]:
        x, y, z, m = load4(p, (i, 0))
        out[0, i] = x
        out[1, i] = y
        out[2, i] = z
        out[3, i] = m
    # END SOLUTION


# %%
check(
    to_columns,
    spec=lambda p: p.T,
    inputs=lambda rng, n: (rng.random((n, 4), np.float32),),
    sizes=[64, 1, 100, 512],
    launch=lambda n: (-(-n // 64), 64),
    full=1 << 22,
    limits={"sectors": 16, "load_bytes": 16, "loads": 4},
)

# %% [markdown] tags=["solution"]
# Four scalar loads `p[i, k]` give the right result too. But each of them touches all 16
# sectors and uses a quarter of each, so 64 sectors pass through L1 to deliver the data
# of 16. (They come from memory only once; the other three loads find them in L1.) The
# wide load requests each sector once.

# %% [markdown]
# ## Measure: one field of a struct
#
# A kernel adds a number to one field, x, of each of 2^25 particles. The particles are
# stored as structs of 4 or of 8 floats, or as columns. Predict from sectors: how many
# times as long as with columns does the kernel take with structs of 4, and with structs
# of 8? (Remember what is read when a sector is written.)

# %%
@cuda.jit
def move_struct(p, step):
    """Add step to field 0 of each row of p (n, fields), four per thread."""
    i = cuda.blockIdx.x * 1024 + cuda.threadIdx.x
    a, b, c, d = p[i, 0], p[i + 256, 0], p[i + 512, 0], p[i + 768, 0]
    p[i, 0], p[i + 256, 0] = a + step, b + step
    p[i + 512, 0], p[i + 768, 0] = c + step, d + step


@cuda.jit
def move_column(p, step):
    """Add step to row 0 of p (fields, n), four elements per thread."""
    i = cuda.blockIdx.x * 1024 + cuda.threadIdx.x
    a, b, c, d = p[0, i], p[0, i + 256], p[0, i + 512], p[0, i + 768]
    p[0, i], p[0, i + 256] = a + step, b + step
    p[0, i + 512], p[0, i + 768] = c + step, d + step


guess = {"struct of 4": None, "struct of 8": None}


def layouts():
    array = cuda.as_cuda_array
    columns = array(big[: 4 * few].view(4, few))
    four, eight = (array(big[: f * few].view(few, f)) for f in (4, 8))
    step = float32(0.5)
    return {
        "columns": lambda: move_column[grid](columns, step),
        "struct of 4": lambda: move_struct[grid](four, step),
        "struct of 8": lambda: move_struct[grid](eight, step),
    }


fields = bench.compare(
    "one field of 2^25 structs", layouts, baseline="columns", guess=guess
)
fields

# %% tags=["solution"]
for f in (4, 8) if len(fields) else ():
    ratio = fields[f"struct of {f}"].ratio
    print(f"struct of {f}: predicted {1 / f:.3f}, measured {ratio:.3f}")
    fields.expect(f"struct of {f}", law=1 / f, within=0.15)

# %% [markdown] tags=["solution"]
# With columns a warp reads 4 sectors and writes 4, with structs of 4 it reads 16 and
# writes 16, and with structs of 8 it reads 32 and writes 32. That is four and eight
# times as many sectors, and on an H200 the kernel takes 4.3 and 9.0 times as long.
# (With structs of 4, the partial writes cause no extra reads: the sector is already in
# L2. With structs of 8, the profiler counts 14 % more bytes read.)
#
# A kernel that needs *all* fields pays nothing for structs, if it loads them whole. So
# choose the layout by which fields are used together. If one kernel uses x, y and z,
# and no kernel uses the other fields, store x, y and z together and keep the other
# fields elsewhere.

# %% [markdown]
# ## 4 · Rows in random order
#
# A **gather** reads from places that an array of indices names: `out[i] = x[idx[i]]`.
# Every neural network that takes words begins with a gather: row `idx[i]` of a table is
# the vector of word `i`.
#
# Here each row has 32 float32, which take 128 bytes. Random rows are far apart, and no
# order of threads brings them together. But *within* a row the elements are neighbours.
# So let a warp take a row: lane `c` takes column `c`.
#
# ```python
# gather_rows(table, idx, out)    # (m, 32), int32 (n,) -> (n, 32)  float32
# ```
#
# The launch is one-dimensional, with one thread per element of `out`, in blocks of 64.
# A thread needs two loads, one of an index and one of an element; the check allows 3.
#
# Stuck? `hint("gather_rows")`.

# %%
@cuda.jit
def gather_rows(table, idx, out):
    """Copy row idx[i] of table (m, 32) to row i of out (n, 32)."""
    t = cuda.grid(1)

    # about 3 lines
    # BEGIN SOLUTION
    row, col = t // 32, t % 32
    if row < idx.size:
        out[row, col] = table[idx[row], col]
    # END SOLUTION


# %%
check(
    gather_rows,
    spec=lambda table, idx: table[idx],
    inputs=lambda rng, m, n: (
        rng.random((m, 32), np.float32),
        rng.integers(0, m, n, np.int32),
    ),
    sizes=[(8, 4), (5, 1), (40, 7), (100, 32)],
    launch=lambda m, n: (-(-n // 2), 64),
    full=(1 << 18, 1 << 16),
    limits={"sectors": 4, "loads": 3},
)

# %% [markdown] tags=["solution"]
# All lanes of a warp read the same `idx[row]`: one sector, and one word, which the
# hardware broadcasts to all of them. The row itself is 4 sectors, all used, wherever it
# is. With one thread per row, each load of a warp would touch 32 rows, and so 32
# sectors.

# %% [markdown]
# ## Measure: random access
#
# The rows below gather 2^25 float32 out of 1 GiB, in different ways. The baseline is a
# plain copy of 2^25 elements.
#
# - `in order`: `idx[i] = i`, one index for each element;
# - `sorted`: random places, but in ascending order;
# - `random`: random places;
# - `random rows`: your kernel, with random rows of 32 elements; and `rows, wide`: the
#   same rows with `load4`.
#
# Calculate first, in bytes per element: 4 are read for the index, and 4 are written.
# And for the element itself? In order, 4 bytes are read; for a random place, a sector,
# or rather a pair of sectors. Predict `random` and `random rows`.

# %%
@cuda.jit
def gather(x, idx, out):
    """out[i] = x[idx[i]], four elements per thread."""
    i = cuda.blockIdx.x * 1024 + cuda.threadIdx.x
    j, k, m, n = idx[i], idx[i + 256], idx[i + 512], idx[i + 768]
    a, b, c, d = x[j], x[k], x[m], x[n]
    out[i], out[i + 256] = a, b
    out[i + 512], out[i + 768] = c, d


@cuda.jit
def gather_rows4(table, idx, out):
    """gather_rows, 16 bytes per lane: eight lanes per row."""
    t = cuda.grid(1)
    row, col = t // 8, t % 8 * 4

    if row < idx.size:
        a, b, c, d = load4(table, (idx[row], col))
        store4(out, (row, col), a, b, c, d)


guess = {"sorted": None, "random": None, "random rows": None}


def gathers():
    count, places = 1 << 25, 1 << 28
    array = cuda.as_cuda_array
    draw = torch.randint(
        places, (count,), dtype=torch.int32, device="cuda"
    )
    some = torch.arange(count, dtype=torch.int32, device="cuda")
    in_order, ordered, anywhere = map(array, (some, draw.sort()[0], draw))
    rows = array(draw[: count // 32] // 32)
    table, x = array(big[:places].view(-1, 32)), array(big[:places])
    out = array(large[:count])
    out_rows = array(large[:count].view(-1, 32))
    run = gather[count // 1024, 256]
    return {
        "copy": lambda: large[:count].copy_(big[:count]),
        "in order": lambda: run(x, in_order, out),
        "sorted": lambda: run(x, ordered, out),
        "random": lambda: run(x, anywhere, out),
        "random rows": lambda: gather_rows[count // 256, 256](
            table, rows, out_rows
        ),
        "rows, wide": lambda: gather_rows4[count // 1024, 256](
            table, rows, out_rows
        ),
    }


gathered = bench.compare(
    "2^25 float32 out of 1 GiB", gathers, baseline="copy", guess=guess
)
gathered

# %% tags=["solution"]
gathered.expect("random rows", at_least=4, times="random")
gathered.expect("in order", at_least=4, times="random")
gathered.expect("sorted", at_least=1.5, times="random")

# %% [markdown] tags=["solution"]
# Count as before, in bytes per element. In order, they are 4 + 4 + 4, one and a half
# times a copy's 8. For random places they are 4 + 64 + 4, nine times a copy's 8, and
# the profiler confirms that 64 bytes come from memory for each element. But the time is
# more than nine times a copy's. Here bytes no longer predict the time; they only bound
# it from below.
#
# What takes the rest of the time? Perhaps address translation, or the path from L2 to
# the SMs. To find out, gather the same number of elements out of smaller tables and out
# of a larger one: a table of 16 MB is in L2, and a table of 4 GiB has four times as
# many addresses as one of 1 GiB. Then gather contiguous *pieces* out of 1 GiB: the
# shorter the pieces, the more of them there are.

# %% tags=["solution"]
@cuda.jit
def gather_pieces(x, idx, log, out):
    """gather, with one index per 2^log neighbours."""
    i = cuda.blockIdx.x * 1024 + cuda.threadIdx.x
    j, k, m = i + 256, i + 512, i + 768
    rest = (1 << log) - 1
    a = x[(idx[i >> log] << log) + (i & rest)]
    b = x[(idx[j >> log] << log) + (j & rest)]
    c = x[(idx[k >> log] << log) + (k & rest)]
    d = x[(idx[m >> log] << log) + (m & rest)]
    out[i], out[j], out[k], out[m] = a, b, c, d


def random_places(places, count):
    """Return count random numbers below places, on the GPU."""
    some = torch.randint(places, (count,), dtype=torch.int32, device="cuda")
    return cuda.as_cuda_array(some)


def out_of_tables():
    sizes = {"16 MB": 22, "128 MB": 25, "1 GiB": 28, "4 GiB": 30}

    def rung(log):
        table = cuda.as_cuda_array(big[: 1 << log])
        places = random_places(1 << log, few)
        return lambda: gather[grid](table, places, d_small)

    return {name: rung(log) for name, log in sizes.items()}


def out_of_pieces():
    table = cuda.as_cuda_array(big[: 1 << 28])
    sizes = {"4 bytes": 0, "32 bytes": 3, "128 bytes": 5, "1 KB": 8}

    def rung(log):
        places = random_places(1 << 28 - log, few >> log)
        return lambda: gather_pieces[grid](table, places, log, d_small)

    return {name: rung(log) for name, log in sizes.items()}


by_table = bench.compare(
    "2^25 out of a table", out_of_tables, baseline="1 GiB"
)
by_table

# %% tags=["solution"]
pieces = bench.compare(
    "2^25 in pieces, out of 1 GiB", out_of_pieces, baseline="4 bytes"
)
pieces

# %% tags=["solution"]
by_table.expect("4 GiB", at_least=0.9)
pieces.expect("32 bytes", at_least=4)
if weft.device.find().l2 > 1 << 25 or not weft.GPU:  # others are smaller
    by_table.expect("16 MB", at_least=2.5)

# %% [markdown] tags=["solution"]
# From 1 GiB to 4 GiB the time hardly changes, so address translation is probably not
# the limit: the chase in section 5 shows no sign of it either. Out of L2 the same
# requests take about a quarter of the time, so the path from L2 to the SMs is not the
# limit. And an eighth of the accesses, of 32 bytes each, takes a sixth of the time: the
# cost is per access. That leaves the *pages* of the memory chips: nearly every place is
# in a different page, which would have to be opened first. But no counter shows this.
#
# Sorting the indices brings the neighbours together again. Only one element in 8 is
# needed, so most bytes still go to waste, but elements on the same page follow each
# other. Random rows of 128 bytes cost a fraction of what random elements do. If an
# access has to be random, make it long.

# %% [markdown]
# ## 5 · How long a load takes
#
# Everything so far was about rates. The other number to know is the **latency**, the
# time from request to answer. To measure it, each load must wait for the one before it.
# So let memory hold links: `link[i]` is the place to go to next. A thread that follows
# the links cannot request the next place before the last answer has come. This is
# called a **pointer chase**.
#
# Begin at place 0, follow `steps` links, and store the place where you end.
#
# ```python
# chase(link, steps, out)    # uint32 (n,), int -> uint32 (1,); one thread
# ```
#
# `ring(n)` makes links that lead through all `n` places in random order.
# Stuck? `hint("chase")`.

# %% tags=["given"]
def ring(n, seed=0):
    """Return links that visit n places in random order, then the first."""
    order = np.random.default_rng(seed).permutation(n)
    link = np.empty(n, np.uint32)
    link[order] = np.roll(order, -1)
    return link


# %%
@cuda.jit
def chase(link, steps, out):
    """Follow that many links from place 0; out[0] is where they end."""
    i = uint32(0)

    # about 3 lines
    # BEGIN SOLUTION
    for _ in range(steps):
        i = link[i]
    out[0] = i
    # END SOLUTION


# %%
def follow(link, steps):
    places = [0]
    while len(places) <= steps:
        places.append(link[places[-1]])
    return np.array(places[-1:], np.uint32)


check(
    chase,
    spec=follow,
    inputs=lambda rng, n, steps: (ring(n), np.int32(steps)),
    sizes=[(16, 5), (64, 1), (64, 200), (100, 99)],
    launch=lambda n, steps: (1, 1),
    full=(1 << 16, 1000),
)

# %% [markdown] tags=["solution"]
# Three things keep such a kernel honest. The result is stored, or else the compiler
# would drop the loop. The order is random, or else a neighbouring sector might already
# be on its way. And the place is unsigned: Numba tests whether a signed index is
# negative, and those instructions would be timed too, once per load.

# %% [markdown]
# ## Measure: the levels
#
# Each row of the next table follows a million links, so its milliseconds are
# nanoseconds per load. The links are 128 bytes apart, each in a cache line of its own,
# and fill 16 KB, 192 KB, and so on, up to 2 GB. Two other rows come first: a million
# multiply-adds, each of which needs the result of the one before it and reads only
# registers; and a million links in shared memory.
#
# Where will the time jump? (An H200 has 256 KB in each SM for L1 and shared memory
# together, and 60 MB of L2.) Guess the ratios: how many times as fast as a load from
# memory (256 MB) is a load from L1 (16 KB), and one from L2 (16 MB)?

# %%
@cuda.jit
def chain(steps, step, out):
    """Multiply and add, each time with the last result: no memory at all."""
    value = step
    for _ in range(steps // 4):
        value = cuda.fma(value, step, step)
        value = cuda.fma(value, step, step)
        value = cuda.fma(value, step, step)
        value = cuda.fma(value, step, step)
    out[0] = uint32(value)


@cuda.jit
def chase_shared(count, out):
    """Follow links in shared memory."""
    tile = cuda.shared.array(1024, uint32)
    for k in range(1024):
        tile[k] = (k + 33) % 1024

    i = uint32(0)
    for _ in range(count):
        i = tile[i]
    out[0] = i


guess = {"16 KB": None, "16 MB": None}

LOADS = 1_000_000
SPANS = {"16 KB": 1 << 14, "192 KB": 3 << 16, "1 MB": 1 << 20}
SPANS |= {"16 MB": 1 << 24, "32 MB": 1 << 25, "64 MB": 1 << 26}
SPANS |= {"256 MB": 1 << 28, "2 GB": 1 << 31}


def spans():
    words, first = big.view(torch.int32), 0
    end = cuda.device_array(1, np.uint32)
    rungs = {
        "registers": lambda: chain[1, 1](LOADS, float32(0.5), end),
        "shared memory": lambda: chase_shared[1, 1](LOADS, end),
    }
    for name, span in SPANS.items():
        part = words[first : first + span // 4]
        first += span // 4
        places = 32 * torch.randperm(span // 128, device="cuda")
        part[places] = places.roll(-1).int()
        link = cuda.as_cuda_array(part.view(torch.uint32))

        def rung(part=part, link=link, span=span):
            if span < 1 << 27:
                part.sum()  # brings the links into L2
            chase[1, 1](link, LOADS, end)

        rungs[name] = rung
    return rungs


latency = bench.compare(
    "a million loads, one after the other",
    spans,
    baseline="256 MB",
    guess=guess,
)
latency

# %% tags=["solution"]
latency.expect("16 KB", at_least=8)
latency.expect("shared memory", at_least=1.1, times="16 KB")
latency.expect("2 GB", at_least=0.9)
if weft.device.find().l2 > 1 << 25 or not weft.GPU:  # others are smaller
    latency.expect("16 MB", at_least=1.7)

# %% [markdown] tags=["solution"]
# There are three plateaus: L1, L2 and memory. The links of 192 KB still come from L1,
# those of 16 MB from L2. Of 32 MB only a part comes from L2, and of 64 MB nothing does,
# although the driver reports 60 MB of L2 on an H200 (50 MB on an H100). Probably this
# is because L2 has two halves, and what an SM loads is kept in the half that it is
# attached to.
#
# About 40 cycles is a long time for a first-level cache. But a GPU's caches are not
# there to save time, which other warps can fill; they are there to save bandwidth.
#
# A load from 2 GB takes about as long as one from 256 MB. A chase through so much
# memory might also have had to wait for address translation, but nothing of that shows
# here.

# %% [markdown]
# ## Measure: the rates
#
# Now read the same levels with all threads, 16 bytes per lane: how many bytes per
# second come out of registers, shared memory, L1, L2 and memory? All rows read the same
# number of bytes. (The lanes of a warp change places from one iteration to the next, or
# else the compiler would read only once.) Guess, in multiples of the last row.

# %%
SPAN = 8192  # float32 that a block reads over and over: 32 KB


@cuda.jit
def read_registers(laps, step, out):
    """Multiply and add: three registers, 12 bytes, are read each time."""
    a, b, c, d = step, step + step, step * step, step - step * step
    for _ in range(laps // 6):
        for _ in range(8):
            a, b = cuda.fma(a, step, step), cuda.fma(b, step, step)
            c, d = cuda.fma(c, step, step), cuda.fma(d, step, step)
    out[cuda.grid(1)] = (a + b) + (c + d)


@cuda.jit
def read_shared(laps, out):
    """Read 32 KB of shared memory over and over, 16 bytes per lane."""
    tile = cuda.shared.array(8192, float32)
    t, total = cuda.threadIdx.x, float32(0)
    for k in range(t, SPAN, 1024):
        tile[k] = float32(k)
    cuda.syncthreads()

    for lap in range(laps):
        i = uint64(4 * (t ^ (lap & 31)))
        j = uint64(4 * (t ^ (lap & 31) ^ 16))
        for k in range(0, SPAN, 4096):
            a, b, c, d = load4(tile, i + uint64(k))
            e, f, g, h = load4(tile, j + uint64(k))
            total += ((a + b) + (c + d)) + ((e + f) + (g + h))
    out[cuda.grid(1)] = total


@cuda.jit
def read_own(x, laps, out):
    """Let each block read its own 32 KB, so from L1, 16 bytes per lane."""
    first = uint64(cuda.blockIdx.x * SPAN)
    t, total = cuda.threadIdx.x, float32(0)
    for lap in range(laps):
        i = first + uint64(4 * (t ^ (lap & 31)))
        j = first + uint64(4 * (t ^ (lap & 31) ^ 16))
        for k in range(0, SPAN, 4096):
            a, b, c, d = load4(x, i + uint64(k))
            e, f, g, h = load4(x, j + uint64(k))
            total += ((a + b) + (c + d)) + ((e + f) + (g + h))
    out[cuda.grid(1)] = total


@cuda.jit
def read_all(x, laps, out):
    """Let the whole grid read x, of 2^k elements, over and over."""
    i, total = int32(4) * int32(cuda.grid(1)), float32(0)
    step = int32(4) * int32(cuda.gridsize(1))
    last = int32(x.size - 1)
    for _ in range(laps):
        for _ in range(4):
            a, b, c, d = load4(x, i & last)
            total += (a + b) + (c + d)
            i += step
    out[cuda.grid(1)] = total


laps = 1800  # of 64 bytes per thread, or 32 multiply-adds in 6 of them
sms = weft.device.find().sms or 132
full = 2 * sms, 1024  # two blocks of 1024 threads fill an SM


def levels():
    sink = cuda.device_array(full[0] * full[1], np.float32)
    half_l2 = 1 << (weft.device.find().l2 // 4 // 4).bit_length() - 1
    near, far = (cuda.as_cuda_array(big[:k]) for k in (half_l2, 1 << 30))
    return {
        "registers": lambda: read_registers[full](laps, float32(0.5), sink),
        "shared memory": lambda: read_shared[full](laps, sink),
        "L1": lambda: read_own[full](d_big, laps, sink),
        "L2": lambda: read_all[full](near, laps, sink),
        "memory": lambda: read_all[full](far, laps, sink),
    }


guess = {"L2": None, "L1": None, "registers": None}

rates = bench.compare(
    "reading, by level",
    levels,
    baseline="memory",
    bytes=16 * 4 * laps * full[0] * full[1],
    guess=guess,
)
rates

# %% tags=["solution"]
rates.expect("L2", at_least=1.5)
rates.expect("L1", at_least=2.5, times="L2")
rates.expect("shared memory", at_least=0.9, times="L1")

# %% [markdown] tags=["solution"]
# Shared memory and L1 are the same piece of hardware, which delivers 128 bytes per
# cycle: 132 SMs × 128 bytes × 1.98 GHz = 33.5 TB/s, and both come close to that. When
# memory is only read, it delivers 3 % more than in a copy on an H100, and 8 % more on
# an H200.
#
# Does it matter now whether a lane loads 4 bytes or 16? Measure that twice: in a loop
# whose loads share an index and differ by a constant that is part of the instruction,
# and in a loop with a new index for each load.

# %% tags=["solution"]
@cuda.jit
def read_own_4(x, laps, out):
    """Let each block read its own 32 KB, so from L1, 4 bytes per lane."""
    first = uint64(cuda.blockIdx.x * SPAN)
    t, total = cuda.threadIdx.x, float32(0)
    for lap in range(laps):
        i = first + uint64(t ^ (lap & 31))
        j = first + uint64(t ^ (lap & 31) ^ 16)
        for k in range(0, SPAN, 1024):
            total += x[i + uint64(k)] + x[j + uint64(k)]
    out[cuda.grid(1)] = total


@cuda.jit
def read_anew(x, laps, out):
    """read_own with a new index for each load."""
    first = int32(cuda.blockIdx.x) * int32(SPAN)
    i, total = int32(4) * int32(cuda.threadIdx.x), float32(0)
    for _ in range(laps):
        for _ in range(4):
            a, b, c, d = load4(x, first + i)
            total += (a + b) + (c + d)
            i = (i + int32(4096 + 128)) & int32(SPAN - 1)
    out[cuda.grid(1)] = total


@cuda.jit
def read_anew_4(x, laps, out):
    """read_own_4 with a new index for each load."""
    first = int32(cuda.blockIdx.x) * int32(SPAN)
    i, total = int32(cuda.threadIdx.x), float32(0)
    for _ in range(laps):
        for _ in range(16):
            total += x[uint32(first + i)]
            i = (i + int32(1024 + 32)) & int32(SPAN - 1)
    out[cuda.grid(1)] = total


def widths():
    sink = cuda.device_array(full[0] * full[1], np.float32)
    return {
        "16 bytes": lambda: read_own[full](d_big, laps, sink),
        "4 bytes": lambda: read_own_4[full](d_big, laps, sink),
        "16 bytes, new index": lambda: read_anew[full](d_big, laps, sink),
        "4 bytes, new index": lambda: read_anew_4[full](d_big, laps, sink),
    }


width = bench.compare(
    "reading from L1, by width",
    widths,
    baseline="16 bytes",
    bytes=16 * 4 * laps * full[0] * full[1],
)
width

# %% tags=["solution"]
width.expect("4 bytes", at_least=0.8)
width.expect("16 bytes, new index", at_least=2, times="4 bytes, new index")

# %% [markdown] tags=["solution"]
# A request of 4 bytes per lane is 128 bytes, all that L1 delivers in a cycle. So wide
# loads as such gain nothing. What they save is instructions: where each load needs a
# dozen instructions for its index, a quarter of the loads means a quarter of these
# instructions.

# %% [markdown]
# ## 6 · Constants
#
# Some data, such as a kernel's coefficients, are the same for all threads. **Constant
# memory** is for such data: up to 64 KB that the kernel cannot change, with a cache of
# its own that delivers *one* word at a time, to all lanes that need it.
# `cuda.const.array_like(C)` puts the NumPy array `C` there. `C` must exist when the
# kernel is compiled.
#
# Compute the polynomial c0 + c1 x + c2 x² + … + c7 x⁷ of each element, by **Horner's
# rule**, from the inside out: begin with c7; multiply by x and add c6; multiply by x
# and add c5; and so on.
#
# ```python
# polynomial(x, out)    # (n,) -> (n,)  float32
# ```
#
# Use no float64, which the check rejects. Stuck? `hint("polynomial")`.

# %% tags=["given"]
COEFFICIENTS = np.array(
    [1.0, -0.5, 0.25, 0.75, -0.125, 0.5, 0.0625, -0.25], np.float32
)


# %%
@cuda.jit
def polynomial(x, out):
    """Evaluate the polynomial with COEFFICIENTS at every element of x."""
    c = cuda.const.array_like(COEFFICIENTS)
    i = cuda.grid(1)

    # about 5 lines
    # BEGIN SOLUTION
    if i < x.size:
        value = c[7]
        for k in range(6, -1, -1):
            value = value * x[i] + c[k]
        out[i] = value
    # END SOLUTION


# %%
check(
    polynomial,
    spec=lambda x: np.polynomial.polynomial.polyval(x, COEFFICIENTS),
    inputs=lambda rng, n: (rng.random(n, np.float32),),
    sizes=[64, 1, 100],
    launch=lambda n: (-(-n // 64), 64),
    full=1 << 22,
    limits={"float64": 0},
)

# %% [markdown] tags=["solution"]
# All lanes need `c[7]` at the same time, then all need `c[6]`: one word per request,
# which is what constant memory is made for. (With `k` known to the compiler, the
# coefficients even become part of the instructions.) A NumPy array that a kernel uses
# as a global name is also put into constant memory; `array_like` makes that visible to
# readers.

# %% [markdown]
# ## Measure: one word for all, or each its own
#
# Each of 2^22 threads makes 256 look-ups in a table of 256 float32. In one case all
# lanes of a warp need the same word at a time; in the other, each lane needs a
# different word. The table is in constant, in global or in shared memory. Which memory
# wins in each case? (1.0 is the first row.)

# %%
TABLE = np.random.default_rng(12).random(256, np.float32)


def lookups(spread):
    """Make kernels that add up TABLE, lane k from element spread * k on."""

    @cuda.jit
    def constant(out):
        table = cuda.const.array_like(TABLE)
        i, total = cuda.grid(1), float32(0)
        first = int32(cuda.threadIdx.x) % int32(32) * int32(spread)
        for k in range(256):
            total += table[uint32(first + int32(k)) % uint32(256)]
        out[i] = total

    @cuda.jit
    def plain(table, out):
        i, total = cuda.grid(1), float32(0)
        first = int32(cuda.threadIdx.x) % int32(32) * int32(spread)
        for k in range(256):
            total += table[uint32(first + int32(k)) % uint32(256)]
        out[i] = total

    @cuda.jit
    def shared(table, out):
        tile = cuda.shared.array(256, float32)
        tile[cuda.threadIdx.x] = table[cuda.threadIdx.x]
        cuda.syncthreads()

        i, total = cuda.grid(1), float32(0)
        first = int32(cuda.threadIdx.x) % int32(32) * int32(spread)
        for k in range(256):
            total += tile[uint32(first + int32(k)) % uint32(256)]
        out[i] = total

    return constant, plain, shared


guess = {"constant, own": None, "global, own": None}


def tables():
    count = 1 << 22
    sink, table = cuda.as_cuda_array(large[:count]), cuda.to_device(TABLE)
    rungs, run = {}, (count // 256, 256)
    for name, spread in (("same", 0), ("own", 1)):
        constant, plain, shared = lookups(spread)
        rungs |= {
            f"constant, {name}": lambda f=constant: f[run](sink),
            f"global, {name}": lambda f=plain: f[run](table, sink),
            f"shared, {name}": lambda f=shared: f[run](table, sink),
        }
    return rungs


looked = bench.compare(
    "256 look-ups by 2^22 threads",
    tables,
    baseline="constant, same",
    guess=guess,
)
looked

# %% tags=["solution"]
looked.expect("constant, same", at_least=4, times="constant, own")
looked.expect("global, own", at_least=2, times="constant, own")

# %% [markdown] tags=["solution"]
# Constant memory delivers one word at a time. 32 lanes that need 32 different words
# take turns, and that takes many times as long. So coefficients belong in constant
# memory, but a table indexed by data does not. Such a table belongs in shared memory,
# or stays where it is: global loads come from L1 here, which delivers one word to all
# lanes as fast as 32 neighbouring words.

# %% [markdown]
# ## If you want more
#
# - Copy from `x[1:]`, which begins 4 bytes off a boundary: `load4` does not work there,
#   but `store4` still does. How fast are four loads and one wide store?
# - Gather random rows of 1, 2, 4, …, 256 float32, always 2^25 elements in all. Where
#   does the memory's page begin to show?
# - Write `to_columns` and its inverse for structs of 8 float32.
# - Shuffle the indices of `in order` within windows of 32, of 4096 and of 2^16
#   elements. Which of these slow the gather down, and what does the size of L2 have to
#   do with that?
# - Use four lanes per particle, one for each field of a struct of 4. Why is an AoS then
#   read with coalesced loads, without any `load4`?
#
# ## What you learned
#
# 1. A warp's load moves whole sectors of 32 bytes. Count the distinct sectors, and you
#    can predict a stride or a layout before you measure it.
# 2. L2 fetches 64 bytes at a time, a sector written in part is read first, and random
#    accesses cost more than their bytes. Where a prediction fails, look at the
#    counters.
# 3. Coalesced is not enough: keep 16 bytes in flight per thread. 128-bit accesses do
#    that with a quarter of the instructions.
# 4. Use structs whole, or keep columns; make random accesses long.
# 5. L1, L2 and memory differ in latency and in rate. Other warps hide a latency;
#    nothing hides a rate. Constant memory is for what all lanes need at the same time.

# %%
quiz()
