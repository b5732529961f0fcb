# %% [markdown]
# # 17 · Fusion
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/17_fusion.ipynb)
#
# **When you have finished, you can**
#
# - say how many launches and how many bytes a chain of operations takes, and how many
#   would be enough;
# - fuse such a chain by hand, and say what fusion cannot save;
# - generate random numbers instead of storing them, with the same mask forward and
#   backward;
# - write RMSNorm and LayerNorm so that they read everything only once, and write
#   LayerNorm's backward pass;
# - find out whether a compiled kernel keeps its values in registers, and fix it if it
#   does not;
# - trade registers for occupancy, and know when that is a bad trade.
#
# **You need** about 110 minutes. You do not need a GPU: without one, the exercises run
# in the simulator, and the measurements show the results of the reference GPU. If you
# have one, it needs compute capability 7.5 or higher and 6 GB of memory.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import functools
import logging
import math
import warnings

import numpy as np
from numba import cuda, float32, int32, uint32, uint64

from weft import bench, check, explore, hint, quiz
from weft.intrinsics import (
    commit_group,
    copy4_async,
    exp2,
    load4,
    mul_wide,
    store4,
    wait_group,
)

weft.lab("17_fusion")

# %% [markdown]
# ## Look: one line of PyTorch
#
# In training, a layer of a language model may end with this line:
#
# ```python
# y = F.dropout(F.gelu(x + bias), 0.1)
# ```
#
# These are three operations, so PyTorch launches three kernels, and each reads what the
# one before has written. The table in the next cell lists the bytes per element that
# each kernel reads and writes: 4 for each array of the size of `x`. Dropout also writes
# a mask for the backward pass, one byte per element. The bias is small, so it is left
# out.
#
# For 16,384 × 4096 float32, how many bytes move? And how many would have to move if one
# kernel did everything and no mask were needed?

# %%
SIZE = 16384 * 4096
steps = {  # bytes read and written per element
    "x + bias": (4, 4),
    "gelu": (4, 4),
    "dropout": (4, 4 + 1),
}

for name, (read, written) in steps.items():
    mb_in, mb_out = read * SIZE / 1e6, written * SIZE / 1e6
    print(f"{name:9} {mb_in:6.0f} MB in {mb_out:6.0f} MB out")
together = sum(map(sum, steps.values())) * SIZE
print(f"together  {together / 1e6:6.0f} MB")

# %% tags=["solution"]
least = (4 + 4) * SIZE
print(f"at least  {least / 1e6:6.0f} MB, {together / least:.2f} times less")
assert together > 3 * least

# %% [markdown] tags=["solution"]
# A single kernel has to read `x` and write `y`, and nothing else needs to leave the
# registers. Such a kernel should be three times as fast as PyTorch's three kernels,
# without doing anything better. This is **fusion**: not a trick to compute faster, but
# a way to move less.
#
# Fusion also saves launches. How long does a launch take?

# %% [markdown]
# ## Measure: a hundred small kernels
#
# Suppose you add 1 to each element of an array, a hundred times in a row. There are
# four ways to do this:
#
# - **Numba**: a hundred launches, in a loop;
# - **PyTorch**: a hundred times `x.add_(1)`;
# - **graph**: Numba's hundred launches, recorded once as a CUDA graph (chapter 11) and
#   then replayed as a whole;
# - **one kernel**: a single launch; each thread adds 1 a hundred times, in a register.
#
# The times are those that your program waits, the host's work included, first for 32
# elements and then for 2^26. If Numba's hundred launches are 1.0, how fast are the
# other three ways?

# %%
guess = {"PyTorch": None, "graph": None, "one kernel": None}
guess_large = {"PyTorch": None, "graph": None, "one kernel": None}


@cuda.jit
def add_one(x):
    """Add 1 to each element of x."""
    i = cuda.grid(1)

    if i < x.size:
        x[i] += float32(1)


@cuda.jit
def add_ones(x):
    """Add 1 to each element of x, a hundred times."""
    i = cuda.grid(1)

    if i < x.size:
        value = x[i]
        for _ in range(100):
            value += float32(1)
        x[i] = value


def graph_of(launches):
    """Return the function that replays all these launches as one graph."""
    launches()  # compiles
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launches()
    return graph.replay


def chain(size):
    def build():
        x = torch.zeros(size, device="cuda")
        d_x = cuda.as_cuda_array(x)
        grid = -(-size // 512), min(size, 512)

        def numba():
            stream = bench.stream()
            for _ in range(100):
                add_one[*grid, stream](d_x)

        def pytorch():
            for _ in range(100):
                x.add_(1)

        return {
            "Numba": numba,
            "PyTorch": pytorch,
            "graph": graph_of(numba),
            "one kernel": lambda: add_ones[grid](d_x),
        }

    return build


if weft.GPU:
    import torch
    import torch.nn.functional as F

chains = {
    size: bench.compare(
        f"100 kernels, {size} elements",
        chain(size),
        baseline="Numba",
        host=True,
        guess=guess if size < 1 << 26 else guess_large,
    )
    for size in (32, 1 << 10, 1 << 26)
}
chains[32]

# %%
chains[1 << 26]

# %%
for size, table in chains.items():
    per_kernel = [f"{r.name} {r.ms * 10:.2f} us" for r in table]
    print(f"{size:10,} elements, for each kernel: {', '.join(per_kernel)}")

# %% tags=["solution"]
chains[32].expect("graph", at_least=8)
chains[32].expect("one kernel", at_least=15)
chains[1024].expect("graph", at_least=6)
chains[1 << 26].expect("one kernel", at_least=20, times="graph")
chains[1 << 26].expect("one kernel", at_least=20, times="PyTorch")

# %% [markdown] tags=["solution"]
# For 32 elements, only the launches count. Python takes between 16 and 25 µs, depending
# on the run, to launch a Numba kernel: it looks at the types of the arguments, finds
# the compiled kernel, packs the arguments and calls the driver. PyTorch does the same
# in C++. A graph does it *beforehand*: a replay sends finished commands, and the GPU
# goes from one to the next in less than a microsecond.
#
# This gap remains, because each kernel can start only when the one before has written
# its results where they can be read. The single kernel removes the gap as well.
#
# A graph removes the *launches*. Fusion removes the *bytes* as well. With 2^26
# elements, each kernel moves 0.5 GB. There, the graph saves hardly any time, whereas
# the single kernel saves nearly all of it. (PyTorch's kernel is faster than `add_one`
# there, probably because each of its threads takes several elements, as in chapter 12,
# and has more bytes in flight.)

# %% [markdown]
# ## 1 · One pass
#
# **GELU** multiplies a number by the share of a bell curve to the left of that number:
#
# $$\mathrm{gelu}(z) = z \, \Phi(z) = \frac z 2 \left( 1 +
#    \mathrm{erf} \frac z {\sqrt 2} \right)$$
#
# The device function `gelu` below computes this. Write the kernel that adds a bias to
# each column and takes the GELU of the sum, in **one pass**: it reads only `x` and
# `bias`, and writes only `out`.
#
# Each thread takes four neighbouring elements of a row, with `load4` and `store4`
# (chapter 12). The number of columns is a multiple of 4, and the grid's y axis is the
# row.
#
# ```python
# bias_gelu(x, bias, out)    # (rows, cols), (cols,) -> (rows, cols)  float32
# ```
#
# Stuck? `hint("bias_gelu")`; there are three hints.

# %% tags=["given"]
HALF = np.float32(0.5)
ROOT_HALF = np.float32(math.sqrt(0.5))


@cuda.jit(device=True)
def gelu(z):
    """Return the GELU of one float32."""
    return HALF * z * (float32(1) + math.erf(z * ROOT_HALF))


erf = np.vectorize(math.erf, otypes=[np.float64])  # NumPy has none


def gelu_of(z):
    """Return the GELU of an array, as NumPy computes it."""
    return (z / 2 * (1 + erf(z / math.sqrt(2)))).astype(z.dtype)


def threads(n):
    return 64 - 32 * (n % 2)  # blocks of different sizes


# %%
@cuda.jit
def bias_gelu(x, bias, out):
    """Write the GELU of x + bias into out, four columns per thread."""
    row, col = cuda.blockIdx.y, 4 * cuda.grid(1)

    # about 5 lines
    # BEGIN SOLUTION
    if col < x.shape[1]:
        a, b, c, d = load4(x, (row, col))
        e, f, g, h = load4(bias, col)
        a, b, c, d = gelu(a + e), gelu(b + f), gelu(c + g), gelu(d + h)
        store4(out, (row, col), a, b, c, d)
    # END SOLUTION


# %%
def biased(rng, rows, cols):
    """Return a matrix and a bias for each of its columns."""
    x = rng.normal(0, 2, (rows, 4 * cols)).astype(np.float32)
    return x, rng.normal(0, 2, 4 * cols).astype(np.float32)


check(
    bias_gelu,
    spec=lambda x, bias: gelu_of(x + bias),
    inputs=biased,
    sizes=[(1, 1), (3, 70), (5, 33)],
    launch=lambda rows, cols: (
        (-(-cols // threads(cols)), rows),
        threads(cols),
    ),
    full=(100, 999),
    limits={"loads": 2, "load_bytes": 16, "store_bytes": 16, "float64": 0},
)

# %% [markdown] tags=["solution"]
# Two kernels for the same operations would read and write twice as many bytes.
# Otherwise, nothing about this kernel is new: it is chapter 12's copy, with some
# arithmetic between load and store.
#
# Every row reads the bias, but in the measurement below the bias is only 16 KB, so it
# comes from a cache.

# %% [markdown]
# ## Measure: two kernels, one kernel
#
# The size is 16,384 × 4096 again. By hand, that is 268 MB in and 268 MB out, if all
# goes well. A copy of the same array is the ceiling. *Two kernels* in Numba, one for
# the bias and one for the GELU, move twice as many bytes. *One pass, 16 bytes* is your
# kernel, and *one pass* is the same with loads of 4 bytes. *CUDA C++* is your kernel in
# that language, compiled by NVRTC (chapter 5). `torch.compile` also fuses the two
# operations, in Triton. If PyTorch's two kernels are 1.0, how fast are the others?
#
# And is there time for the arithmetic? While memory delivers 32 elements and stores 32,
# which is 256 bytes, the SMs of an H200 have time for about 60 warp instructions (for
# reading alone, chapter 14 counted 30). Your kernel executes 148 for four elements per
# thread, which is 37 per 32 elements.

# %%
guess = {
    "two kernels": None,
    "one pass": None,
    "one pass, 16 bytes": None,
    "CUDA C++": None,
    "torch.compile": None,
}
ROWS, COLS = 16384, 4096


@cuda.jit
def add_bias(x, bias, out):
    """Write x + bias into out."""
    row, col = cuda.blockIdx.y, cuda.grid(1)

    if col < x.shape[1]:
        out[row, col] = x[row, col] + bias[col]


@cuda.jit
def gelu_each(x, out):
    """Write the GELU of x into out."""
    row, col = cuda.blockIdx.y, cuda.grid(1)

    if col < x.shape[1]:
        out[row, col] = gelu(x[row, col])


@cuda.jit
def bias_gelu_each(x, bias, out):
    """Write the GELU of x + bias into out, one column per thread."""
    row, col = cuda.blockIdx.y, cuda.grid(1)

    if col < x.shape[1]:
        out[row, col] = gelu(x[row, col] + bias[col])


GELU_CPP = """
__device__ float gelu(float z)
{
    return 0.5f * z * (1 + erff(0.70710678f * z));
}

extern "C" __global__
void bias_gelu(const float4* x, const float4* bias, float4* out, int fours)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    long long at = blockIdx.y * (long long)fours + col;

    if (col < fours) {
        float4 v = x[at], b = bias[col];
        out[at] = make_float4(gelu(v.x + b.x), gelu(v.y + b.y),
                              gelu(v.z + b.z), gelu(v.w + b.w));
    }
}
"""


def in_cpp(x, bias, out, grid, block):
    """Return a function that launches the C++ bias_gelu on tensors."""
    import cuda.core as core

    if not hasattr(core, "Program"):  # older versions keep it elsewhere
        import cuda.core.experimental as core

    gpu = core.Device()
    gpu.set_current()
    stream = gpu.default_stream
    options = core.ProgramOptions(arch=weft.device.find().sm)
    program = core.Program(GELU_CPP, code_type="c++", options=options)
    twin = program.compile("cubin").get_kernel("bias_gelu")
    config = core.LaunchConfig(grid=grid, block=block)
    pointers = x.data_ptr(), bias.data_ptr(), out.data_ptr()
    fours = np.int32(x.shape[1] // 4)
    return lambda: core.launch(stream, config, twin, *pointers, fours)


@functools.cache
def compiled(function):
    """Return what torch.compile makes of a function of tensors, tuned."""
    from torch._functorch import config

    config.donated_buffer = False  # or backward could run only once
    torch._logging.set_logs(all=logging.ERROR)
    torch._dynamo.config.recompile_limit = 64  # beyond it, nothing is compiled
    warnings.simplefilter("ignore")  # it has a lot to say while it compiles
    mode = "max-autotune-no-cudagraphs"
    return torch.compile(function, mode=mode, dynamic=False)


def near(got, wanted, tolerance=1e-5):
    """Assert that a tensor is what it should be, but for rounding."""
    assert (got - wanted).norm() < tolerance * wanted.norm()


def gelu_candidates():
    torch.manual_seed(17)
    x = torch.randn(ROWS, COLS, device="cuda")
    bias = torch.randn(COLS, device="cuda")
    out, between = torch.empty_like(x), torch.empty_like(x)
    d_x, d_bias, d_out, d_between = map(
        cuda.as_cuda_array, (x, bias, out, between)
    )
    each, fours = (COLS // 256, ROWS), (COLS // 512, ROWS)

    def two():
        add_bias[each, 256](d_x, d_bias, d_between)
        gelu_each[each, 256](d_between, d_out)

    bias_gelu[fours, 128](d_x, d_bias, d_out)
    near(out, F.gelu(x + bias))
    mine = out.clone()
    cpp = in_cpp(x, bias, out.zero_(), fours, 128)
    cpp()
    near(out, mine)
    print("CUDA C++: the same bits?", torch.equal(out, mine))
    torch_made = compiled(lambda x, bias: F.gelu(x + bias))
    return {
        "copy": lambda: out.copy_(x),
        "PyTorch": lambda: F.gelu(x + bias),
        "torch.compile": lambda: torch_made(x, bias),
        "two kernels": two,
        "one pass": lambda: bias_gelu_each[each, 256](d_x, d_bias, d_out),
        "one pass, 16 bytes": lambda: bias_gelu[fours, 128](d_x, d_bias, d_out),
        "CUDA C++": cpp,
    }


one_pass = bench.compare(
    "bias and GELU, 16384 x 4096 float32",
    gelu_candidates,
    baseline="PyTorch",
    bytes=2 * 4 * SIZE,
    ceiling="copy",
    guess=guess,
)
one_pass

# %% tags=["solution"]
one_pass.expect("one pass, 16 bytes", at_least=1.6)
one_pass.expect("one pass, 16 bytes", ceiling=0.9)
one_pass.expect("one pass, 16 bytes", at_least=0.95, times="CUDA C++")
one_pass.expect("one pass", at_least=1.3, times="two kernels")

# %% [markdown] tags=["solution"]
# The two kernels move twice as many bytes as the single kernel, and take nearly twice
# as long. With loads of 16 bytes, the single kernel comes close to the copy. So does
# the same kernel in C++, and so does the kernel that `torch.compile` generates: for a
# chain of elementwise operations, you can leave the fusion to the compiler.

# %% [markdown]
# ## 2 · A mask that is never stored
#
# **Dropout**, here with a probability of 0.1, sets a random tenth of the elements to 0
# and multiplies the other elements by 1 / 0.9. In the backward pass, the gradients of
# the same elements are set to 0, so the usual way is to keep the mask.
#
# The other way is to *compute it again*. A **counter-based generator** is a function
# that scrambles a number, the counter. The same counter always gives the same random
# number. No state is passed from one number to the next, so any thread can compute any
# of the numbers, in any order, and more than once.
#
# **Philox** is the counter-based generator that PyTorch uses on a GPU. It takes four
# 32-bit counters and a key, and scrambles them in ten rounds. Each round multiplies two
# of the numbers by constants, which gives 64 bits each (`mul_wide` returns the upper
# and the lower half), and combines the halves and the key crosswise. The results are
# four random 32-bit numbers.
#
# `random4(k, state)` below returns these four numbers for counter `k`. `state` holds
# two numbers, a seed and the number of the training step.
#
# Four random numbers are enough for four neighbouring elements. **Group `k`**, which
# begins at element `4 * k`, uses counter `k`, no matter which thread processes it. An
# element is kept if its random number is at least `CUT`, a tenth of 2^32, and is then
# multiplied by `SCALE`.
#
# Write the kernel as a grid-stride loop over these groups. The mask has to be the same
# for any grid and any block.
#
# ```python
# dropout(x, state, out)    # (4 n,), (2,) uint32 -> (4 n,)  float32
# ```
#
# Stuck? `hint("dropout")`.

# %% tags=["given"]
ROUNDS = 10
MULTIPLY = np.uint32(0xD2511F53), np.uint32(0xCD9E8D57)
WEYL = np.uint32(0x9E3779B9), np.uint32(0xBB67AE85)
NONE = np.uint32(0)


@cuda.jit(device=True)
def add(a, b):
    """Return the sum of two uint32, modulo 2^32."""
    return uint32((uint64(a) + uint64(b)) & uint64(0xFFFFFFFF))


@cuda.jit(device=True)
def philox(a, b, c, d, key, key2):
    """Return four random uint32 for the counters a, b, c, d and a key."""
    for _ in range(ROUNDS):
        upper, lower = mul_wide(MULTIPLY[0], a)
        upper2, lower2 = mul_wide(MULTIPLY[1], c)
        a, b = uint32(upper2 ^ b ^ key), lower2
        c, d = uint32(upper ^ d ^ key2), lower
        key, key2 = add(key, WEYL[0]), add(key2, WEYL[1])
    return a, b, c, d


@cuda.jit(device=True)
def random4(k, state):
    """Return four random uint32 that belong to counter k."""
    return philox(uint32(k), state[1], NONE, NONE, state[0], NONE)


def philox_numpy(counters, keys):
    """Return 4 random uint32 for each of n counters; (4, n), (2,) -> (n, 4)."""
    a, b, c, d = (np.asarray(part, np.uint64) for part in counters)
    key, key2 = (np.uint64(part) for part in keys)
    first, second, step, step2 = map(np.uint64, MULTIPLY + WEYL)
    half, lower = np.uint64(32), np.uint64(0xFFFFFFFF)
    for _ in range(ROUNDS):
        p, q = first * a, second * c
        a, c = q >> half ^ b ^ key, p >> half ^ d ^ key2
        b, d = q & lower, p & lower
        key, key2 = key + step & lower, key2 + step2 & lower
    return np.stack([a, b, c, d], axis=-1).astype(np.uint32)


def numbers(count, state):
    """Return the random numbers of `count` elements, four per counter."""
    k = np.arange(-(-count // 4))
    step, nothing = np.full_like(k, state[1]), np.zeros_like(k)
    fours = philox_numpy((k, step, nothing, nothing), (state[0], 0))
    return fours.ravel()[:count]


DROPPED = 0.1
CUT = np.uint32(DROPPED * 2**32)
SCALE = np.float32(1 / (1 - DROPPED))


@cuda.jit(device=True)
def keep(random, value):
    """Return value, scaled, or 0 if its random number is below CUT."""
    return value * SCALE if random >= CUT else float32(0)


# %% [markdown]
# Philox comes with **known answers**: the numbers that it must return for certain
# counters. If you write the generator and do not compare it with these answers, you
# have probably written a different generator. (The authors' answers are for counters of
# all 0 bits, of all 1 bits, and of digits of pi.) `philox_numpy` is the same generator
# in NumPy, which the check uses as its reference.

# %%
@cuda.jit
def one_philox(counters, keys, out):
    """Write what Philox returns for four counters and two keys; one thread."""
    out[0], out[1], out[2], out[3] = philox(
        counters[0], counters[1], counters[2], counters[3], keys[0], keys[1]
    )


ONES = 0xFFFFFFFF
PI = 0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0
answers = {
    (0,) * 6: "6627e8d5 e169c58d bc57ac4c 9b00dbd8",
    (ONES,) * 6: "408f276d 41c83b0e a20bc7c6 6d5451fd",
    PI: "d16cfe09 94fdcceb 5001e420 24126ea1",
}
for given, answer in answers.items():
    parts = np.uint32(given[:4]), np.uint32(given[4:])
    d_found = cuda.to_device(np.zeros(4, np.uint32))
    one_philox[1, 1](*map(cuda.to_device, parts), d_found)
    found = d_found.copy_to_host()
    theirs = philox_numpy([[n] for n in given[:4]], given[4:])[0]
    print(" ".join(f"{n:08x}" for n in found), "  wanted:", answer)
    assert list(found) == list(theirs) == [int(n, 16) for n in answer.split()]


# %%
@cuda.jit
def dropout(x, state, out):
    """Write x into out, scaled, with a tenth dropped; four at a time."""
    # about 5 lines
    # BEGIN SOLUTION
    for k in range(cuda.grid(1), x.size // 4, cuda.gridsize(1)):
        a, b, c, d = load4(x, 4 * k)
        p, q, r, s = random4(k, state)
        store4(out, 4 * k, keep(p, a), keep(q, b), keep(r, c), keep(s, d))
    # END SOLUTION


# %%
def dropped(x, state):
    """Return what dropout makes of x, computed by NumPy."""
    return np.where(numbers(x.size, state) >= CUT, x * SCALE, 0)


check(
    dropout,
    spec=dropped,
    inputs=lambda rng, n: (
        rng.normal(0, 1, 4 * n).astype(np.float32),
        rng.integers(0, 1 << 32, 2, dtype=np.uint32),
    ),
    sizes=[1, 32, 75, 200],
    launch=lambda n: (1 + n % 3, threads(n)),
    full=100_001,
    limits={"load_bytes": 8, "store_bytes": 16, "loads": 6, "float64": 0},
)

# %% [markdown] tags=["solution"]
# Dropout multiplies each element by 0 or `SCALE`. Its backward pass multiplies each
# gradient by the same factor, so it is **the same kernel**, with the gradient instead
# of `x` and with the same state. Only two numbers have to be kept.

# %%
x = np.random.default_rng(17).random(4000, np.float32) + 1
state = np.uint32([17, 1])  # seed 17, step 1


def launched(kernel, how, *arrays):
    """Launch a kernel on copies of arrays, and return the last of them."""
    copied = [cuda.to_device(a) for a in arrays]
    kernel[how](*copied)
    return copied[-1].copy_to_host()

# %% tags=["solution"]
there = launched(dropout, (4, 32), x, state, x)
back = launched(dropout, (3, 64), -x, state, x)
later = launched(dropout, (4, 32), x, state + np.uint32([0, 1]), x)

print(f"dropped: {np.mean(there == 0):.1%}")
print(f"the same ones going back: {np.all((there == 0) == (back == 0))}")
shared = np.mean((later == 0)[there == 0])
print(f"of these, dropped again a step later: {shared:.1%}")
assert np.array_equal(back, -there)

# %% [markdown]
# ## Read: everything at once
#
# Here are the whole layer and its backward pass with respect to `x`, in one kernel
# each. The backward pass takes `dy` through dropout and then through GELU, whose slope
# is $\Phi(z) + z \, \varphi(z)$ with $z = x + \text{bias}$. That needs `x`, but as the
# layer's input `x` is available anyway, so nothing else has to be kept.
#
# `layer_kernels` makes both kernels, given a GELU and its slope.

# %% tags=["given"]
DENSITY = np.float32(1 / math.sqrt(2 * math.pi))
POWER = np.float32(-0.5 * math.log2(math.e))


@cuda.jit(device=True)
def bell(z):
    """Return the density of the bell curve."""
    return DENSITY * exp2(POWER * z * z)


@cuda.jit(device=True)
def slope(z):
    """Return the derivative of GELU."""
    return HALF * (float32(1) + math.erf(z * ROOT_HALF)) + z * bell(z)


def layer_kernels(gelu, slope):
    """Make the kernels of bias, GELU and dropout: forward and backward."""

    @cuda.jit
    def layer(x, bias, state, out):
        row, first = int32(cuda.blockIdx.y), int32(4 * cuda.grid(1))

        if first < x.shape[1]:
            here, more = load4(x, (row, first)), load4(bias, first)
            lots = random4((row * x.shape[1] + first) // 4, state)

            p = keep(lots[0], gelu(here[0] + more[0]))
            q = keep(lots[1], gelu(here[1] + more[1]))
            r = keep(lots[2], gelu(here[2] + more[2]))
            s = keep(lots[3], gelu(here[3] + more[3]))
            store4(out, (row, first), p, q, r, s)

    @cuda.jit
    def layer_backward(x, bias, dy, state, dx):
        row, first = int32(cuda.blockIdx.y), int32(4 * cuda.grid(1))

        if first < x.shape[1]:
            here, more = load4(x, (row, first)), load4(bias, first)
            back = load4(dy, (row, first))
            lots = random4((row * x.shape[1] + first) // 4, state)

            p = keep(lots[0], back[0] * slope(here[0] + more[0]))
            q = keep(lots[1], back[1] * slope(here[1] + more[1]))
            r = keep(lots[2], back[2] * slope(here[2] + more[2]))
            s = keep(lots[3], back[3] * slope(here[3] + more[3]))
            store4(dx, (row, first), p, q, r, s)

    return layer, layer_backward


layer, layer_backward = layer_kernels(gelu, slope)


# %% [markdown]
# **Is there time for this arithmetic?** While memory delivers 32 elements and stores
# 32, the SMs of an H200 have time for about 60 warp instructions. The machine code of
# `layer` has 219 for four elements per thread, so 55 per 32 elements. The GELU accounts
# for more than half of these instructions, and Philox for a third. They take nearly all
# the available time, and no SM issues as many instructions as it could in every cycle.
#
# So on an H200, fusion has turned a chain of memory-bound operations into a
# compute-bound kernel, and now it pays to save instructions. `math.erf` is right to the
# last bits over its whole range, and chooses between two formulas to achieve this. A
# GELU needs less precision. The share of the bell curve to the *right* of a number
# $a \ge 0$ is a power of 2 whose exponent is almost a parabola:
#
# $$1 - \Phi(a) \approx 2^{\,c_0 + c_1 a + c_2 a^2 + \dots + c_8 a^8}$$
#
# This formula takes eight multiply-adds and one `exp2`. We have fitted the nine
# coefficients to the true curve. With them, the GELU is off by at most 1.4e-8 before
# rounding, which is a quarter of the smallest difference that float32 can represent
# just below 1. The share to the right of $|z|$ gives the GELU for either sign of $z$:
# $\mathrm{gelu}(z) = \max(z, 0) - |z| \, (1 - \Phi(|z|))$.

# %% tags=["given"]
EXPONENT = tuple(
    np.float32(c)
    for c in (
        -1.99198917e-06,
        2.92732657e-05,
        -1.38095391e-04,
        -2.53415317e-04,
        7.21635437e-03,
        -5.26030175e-02,
        -4.59172249e-01,
        -1.15110970e00,
        -9.99999881e-01,
    )
)


@cuda.jit(device=True)
def above(a):
    """Return the share of the bell curve above a, which is at least 0."""
    power = EXPONENT[0]
    for k in range(1, 9):
        power = power * a + EXPONENT[k]
    return exp2(power)


@cuda.jit(device=True)
def lean_gelu(z):
    """Return the GELU of one float32."""
    return max(z, float32(0)) - abs(z) * above(abs(z))


@cuda.jit(device=True)
def lean_slope(z):
    """Return the derivative of GELU."""
    share = above(abs(z))
    return (share if z < float32(0) else float32(1) - share) + z * bell(z)


lean_layer, lean_backward = layer_kernels(lean_gelu, lean_slope)


# %%
def above_numpy(a):
    """Return what above() computes, in NumPy and in float32."""
    power = np.full_like(a, EXPONENT[0])
    for c in EXPONENT[1:]:
        power = power * a + c
    return np.exp2(power)


z = np.linspace(-12, 12, 100_001).astype(np.float32)
found = np.maximum(z, 0) - np.abs(z) * above_numpy(np.abs(z))
off = np.abs(found - gelu_of(z.astype(np.float64))).max()
print(f"largest error: {off:.1e}")
assert off < 5e-7

# %% [markdown]
# The error that you see is due to rounding: between 4 and 8, neighbouring float32 are
# 4.8e-7 apart.
#
# Are the kernels right? You can test a gradient without a formula: change `x` a little,
# and see how much the output changes.

# %%
rng = np.random.default_rng(17)
x, bias = biased(rng, 5, 16)
dy = rng.normal(0, 1, x.shape).astype(np.float32)
mask = (numbers(x.size, state) >= CUT).reshape(x.shape) * SCALE
wide = x.astype(np.float64) + bias
slopes = (gelu_of(wide + 1e-4) - gelu_of(wide - 1e-4)) / 2e-4

for name, there, back in (
    ("with erf", layer, layer_backward),
    ("lean", lean_layer, lean_backward),
):
    out = launched(there, ((1, 5), 32), x, bias, state, x)
    dx = launched(back, ((1, 5), 32), x, bias, dy, state, x)
    off = np.abs(out - gelu_of(wide) * mask).max()
    off_back = np.abs(dx - dy * slopes * mask).max()
    print(f"{name:9} forward {off:.0e}, backward {off_back:.0e}")
    assert max(off, off_back) < 1e-5

# %% [markdown]
# ## Measure: the layer, forward and backward
#
# By hand, PyTorch's three forward kernels move 25 bytes per element, and the fused
# kernel moves 8. In the backward pass, PyTorch first goes through dropout, which reads
# the gradient and the mask and writes a gradient. Then it goes through GELU, which
# reads that gradient and the stored `x + bias`, and writes a gradient. How many bytes
# is that? The fused backward kernel reads `x` and `dy` and writes `dx`.
#
# And how much time do the instructions take? *One kernel* is `layer`, and *fewer
# instructions* is `lean_layer`.
#
# All versions run in training mode and compute the gradient of `x` alone. The time of
# PyTorch's forward pass includes autograd's work on the host only if that takes longer
# than the work on the GPU.

# %%
guess = {"torch.compile": None, "one kernel": None, "fewer instructions": None}


def layer_arrays():
    """Return x, bias, dy, an output and the state, all on the GPU."""
    torch.manual_seed(17)
    x, dy = (torch.randn(ROWS, COLS, device="cuda") for _ in "xy")
    bias = torch.randn(COLS, device="cuda")
    state = torch.tensor([17, 1], dtype=torch.int32, device="cuda")
    return x, bias, dy, torch.empty_like(x), state.view(torch.uint32)


def in_torch(x, bias):
    return F.dropout(F.gelu(x + bias), DROPPED)


FOURS = (COLS // 512, ROWS), 128


def layer_candidates():
    x, bias, _, out, state = layer_arrays()
    args = list(map(cuda.as_cuda_array, (x, bias, state, out)))
    whole = F.gelu(x + bias) * float(SCALE)
    for kernel in (layer, lean_layer):
        kernel[FOURS](*args)
        near(out, torch.where(out == 0, 0, whole))
        assert abs((out == 0).float().mean().item() - DROPPED) < 1e-3

    x.requires_grad_()
    torch_made = compiled(in_torch)
    return {
        "copy": lambda: out.copy_(x.detach()),
        "PyTorch": lambda: in_torch(x, bias),
        "torch.compile": lambda: torch_made(x, bias),
        "one kernel": lambda: layer[FOURS](*args),
        "fewer instructions": lambda: lean_layer[FOURS](*args),
    }


layer_table = bench.compare(
    "bias, GELU, dropout, 16384 x 4096 float32",
    layer_candidates,
    baseline="PyTorch",
    bytes=2 * 4 * SIZE,
    ceiling="copy",
    guess=guess,
)
layer_table

# %%
guess = {"torch.compile": None, "one kernel": None, "fewer instructions": None}


def copies(arrays):
    """Return a copy that moves as many bytes as this number of arrays."""
    source = torch.empty(arrays * SIZE // 2, device="cuda")
    target = torch.empty_like(source)
    return lambda: target.copy_(source)


def layer_back_candidates():
    x, bias, dy, dx, state = layer_arrays()
    args = list(map(cuda.as_cuda_array, (x, bias, dy, state, dx)))
    x.requires_grad_()
    torch_made = compiled(in_torch)
    y, compiled_y = in_torch(x, bias), torch_made(x, bias)

    def back(y):
        return torch.autograd.grad(y, x, dy, retain_graph=True)

    return {
        "copy": copies(3),
        "PyTorch": lambda: back(y),
        "torch.compile": lambda: back(compiled_y),
        "one kernel": lambda: layer_backward[FOURS](*args),
        "fewer instructions": lambda: lean_backward[FOURS](*args),
    }


back_table = bench.compare(
    "the layer backward, 16384 x 4096 float32",
    layer_back_candidates,
    baseline="PyTorch",
    bytes=3 * 4 * SIZE,
    ceiling="copy",
    guess=guess,
)
back_table

# %% tags=["solution"]
layer_table.expect("one kernel", at_least=2)
layer_table.expect("fewer instructions", at_least=2)
layer_table.expect("fewer instructions", ceiling=0.88)
layer_table.expect("fewer instructions", at_least=1.1, times="one kernel")
layer_table.expect("fewer instructions", at_least=1.3, times="torch.compile")
back_table.expect("fewer instructions", at_least=1.2)
back_table.expect("fewer instructions", ceiling=0.88)

# %% [markdown] tags=["solution"]
# Backward, PyTorch moves 4 + 1 + 4 bytes for dropout and 4 + 4 + 4 for GELU: 21 bytes
# against 12.
#
# Forward, `layer` is slower than the copy, by a quarter on an H200 and by five per cent
# on an H100, whose slower memory leaves more time. Backward, it is closer to the copy,
# because moving 12 bytes instead of 8 leaves one and a half times as much time for
# about the same arithmetic. With fewer instructions, both passes gain. If memory were
# the limit, saving instructions would gain nothing, so count first.

# %% [markdown]
# ## Watch out: what a graph freezes
#
# A graph keeps the *arguments* of its launches: the addresses of arrays, and the values
# of numbers. Suppose the training step of this layer is replayed as a graph. Which of
# these gives a new mask at each replay?
#
# - the step number is an argument of the launch, and your program increments it;
# - the step number is in `state`, in the GPU's memory, and a kernel in the graph
#   increments it.

# %%
@cuda.jit
def dropout_step(x, step, out):
    """Like dropout, with the step as a number."""
    i = cuda.grid(1)
    if i < x.size // 4:
        four = load4(x, 4 * i)
        lots = philox(uint32(i), uint32(step), NONE, NONE, uint32(17), NONE)
        p, q = keep(lots[0], four[0]), keep(lots[1], four[1])
        r, s = keep(lots[2], four[2]), keep(lots[3], four[3])
        store4(out, 4 * i, p, q, r, s)


@cuda.jit
def tick(state):
    """Count the step up."""
    state[1] += uint32(1)


if weft.on_gpu("there are no graphs to replay"):
    ones = torch.ones(4096, device="cuda")
    out = torch.empty_like(ones)
    state = torch.tensor([17, 1], dtype=torch.int32, device="cuda")
    d_ones, d_out = map(cuda.as_cuda_array, (ones, out))
    d_state = cuda.as_cuda_array(state.view(torch.uint32))
    step = 1

    def as_number():
        dropout_step[8, 128, bench.stream()](d_ones, step, d_out)

    def in_memory():
        dropout[8, 128, bench.stream()](d_ones, d_state, d_out)
        tick[1, 1, bench.stream()](d_state)

    ways = {"as a number": as_number, "in memory": in_memory}
    for name, launches in ways.items():
        replay = graph_of(launches)
        masks = []
        for _ in range(3):
            step += 1  # what the next step of the training would do
            replay()
            masks.append(out == 0)
        same = all(torch.equal(masks[0], mask) for mask in masks)
        said = "the same mask" if same else "new masks"
        print(f"the step {name}: {said}")
        assert same == (name == "as a number")

# %% [markdown] tags=["solution"]
# The argument was copied when the graph was recorded. So every replay drops the same
# elements. Nothing fails, the network just trains a little worse, and no test of shapes
# finds such a bug. Whatever changes from replay to replay has to be read from memory.
# PyTorch's own dropout does this: while a graph is being recorded, its kernels get the
# *address* of the counter.

# %% [markdown]
# ## 3 · A norm, read once
#
# So far, each element was computed on its own. A **norm** first needs to know something
# about the whole row. RMSNorm, which many language models use, divides each element by
# the root of the row's mean square, and multiplies it by its column's weight:
#
# $$y_j = x_j \, r \, w_j, \qquad r = \frac 1 {\sqrt{\frac 1 n \sum_k x_k^2 +
#    \varepsilon}}$$
#
# The sum needs the whole row before the first element can be written. As in chapter 16,
# a block holds a row, each thread keeps its part in **registers**, and everything is
# read only once.
#
# A thread has up to `PIECES` = 4 pieces of four columns. Piece `k` begins at column
# `first + k * width`, where `width` is four times the number of threads; a row has at
# most `4 * width` columns, a multiple of 4. Some threads have fewer pieces, or none.
#
# `values` is an array of 16 registers; `values[4 * k + j]` is for element `j` of piece
# `k`. `block_sum(value, turn)` adds up the values of all threads in the block and
# returns the sum to each of them. Two successive calls need different turns, 0 and 1,
# so that they use different cells of shared memory.
#
# Use loops over `range(PIECES)` and `range(4)`, and compute every index from their loop
# variables. Then the compiler knows which register each index refers to, and the check
# makes sure that it does.
#
# The backward pass will need $r$ again, so one thread of the block writes it to
# `rstd[row]`.
#
# ```python
# rms_norm(x, weight, out, rstd)    # (rows, cols), (cols,) -> (rows, cols), (rows,)
# ```
#
# Stuck? `hint("rms_norm")`.

# %% tags=["given"]
FULL = 0xFFFFFFFF
PIECES, VALUES = 4, 16  # per thread: pieces of 16 bytes, elements
EPS = np.float32(1e-5)


@cuda.jit(device=True)
def warp_sum(value):
    """Return the sum of a warp's values, in all its lanes."""
    for step in (16, 8, 4, 2, 1):
        value += cuda.shfl_xor_sync(FULL, value, step)
    return value


@cuda.jit(device=True)
def block_sum(value, turn):
    """Return the sum of a block's values, in all threads; turn: 0 or 1."""
    cells = cuda.shared.array((2, 32), float32)
    me = cuda.threadIdx.x
    mine = warp_sum(value)
    if me % 32 == 0:
        cells[turn, me // 32] = mine
    cuda.syncthreads()
    inside = me % 32 < cuda.blockDim.x // 32
    return warp_sum(cells[turn, me % 32] if inside else float32(0))


def norm_of(x, gamma, beta):
    """Return the LayerNorm of each row, its mean and 1 / deviation."""
    mean = x.mean(axis=1)
    rstd = 1 / np.sqrt(x.var(axis=1) + EPS)
    centred = (x - mean[:, None]) * rstd[:, None]
    return centred * gamma + beta, mean, rstd


# %%
@cuda.jit
def rms_norm(x, weight, out, rstd):
    """Write the RMSNorm of each row of x into out; one block per row."""
    values = cuda.local.array(VALUES, float32)
    row, first = cuda.blockIdx.x, 4 * cuda.threadIdx.x
    cols, width = x.shape[1], 4 * cuda.blockDim.x

    # about 19 lines
    # BEGIN SOLUTION
    squares = float32(0)
    for k in range(PIECES):
        col = first + k * width
        if col < cols:
            four = load4(x, (row, col))
            for j in range(4):
                values[4 * k + j] = four[j]
                squares += four[j] * four[j]

    mean = block_sum(squares, 0) / float32(cols)
    r = float32(1) / math.sqrt(mean + EPS)
    if first == 0:
        rstd[row] = r

    for k in range(PIECES):
        col = first + k * width
        if col < cols:
            w = load4(weight, col)
            a, b = values[4 * k] * r * w[0], values[4 * k + 1] * r * w[1]
            c, d = values[4 * k + 2] * r * w[2], values[4 * k + 3] * r * w[3]
            store4(out, (row, col), a, b, c, d)
    # END SOLUTION


# %%
def rms_of(x, weight):
    """Return the RMSNorm of each row and its r, as NumPy computes it."""
    rstd = 1 / np.sqrt((x**2).mean(axis=1) + EPS)
    return x * rstd[:, None] * weight, rstd


check(
    rms_norm,
    spec=rms_of,
    inputs=lambda rng, rows, cols: (
        rng.normal(0, 0.01, (rows, 4 * cols)).astype(np.float32),
        rng.normal(0, 1, 4 * cols).astype(np.float32),
    ),
    sizes=[(1, 1), (3, 70), (2, 256)],
    launch=lambda rows, cols: (rows, 32 * -(-cols // 128)),
    full=(3000, 255),
    limits={
        "sectors": 16,
        "loads": 8,
        "load_bytes": 16,
        "store_bytes": 15,
        "local": 0,
        "float64": 0,
    },
)

# %% [markdown] tags=["solution"]
# The elements in this check are small, so that a missing `EPS` would show.
#
# `/ float32(cols)` needs the conversion. A float32 divided by an int64 would be a
# float64, and so would everything after it.

# %% [markdown]
# ## 4 · Where is your array?
#
# **LayerNorm** first subtracts the row's mean, then divides by the standard deviation,
# and applies a weight $\gamma$ and a bias $\beta$ for each column:
#
# $$y_j = \hat x_j \gamma_j + \beta_j, \qquad
#    \hat x_j = (x_j - \mu) \, r, \qquad
#    r = \frac 1 {\sqrt{\frac 1 n \sum_k (x_k - \mu)^2 + \varepsilon}}$$
#
# There are two sums, and the second needs the first. With the row in registers, this
# takes no second read. For the backward pass, the kernel stores two numbers per row,
# $\mu$ in `mean` and $r$ in `rstd`. They take 8 bytes per row, whereas $\hat x$ would
# take 4 bytes per element.
#
# A colleague has written the kernel below. It loads each element once, four at a time,
# and its results are right. But it is slow, because of its array. Run the check: it
# objects to the array.
#
# **Registers have no address.** `values[i]` can be a register only if the compiler
# knows `i` when it compiles. If the compiler does not, the array gets an address, in
# **local memory**. The name is misleading: local memory is a part of the GPU's ordinary
# memory that belongs to one thread, and is cached like the rest. For a small array, the
# last stage of compilation may still avoid local memory, by comparing the index with
# each possible value in turn. That takes no memory, but many instructions. The check
# compiles your kernel to PTX, which is the stage before, and looks for an array with an
# address.
#
# Find the indices that depend on something known only at run time, and fix them.
# Exercise 3 has the pattern.
#
# ```python
# layer_norm(x, gamma, beta, out, mean, rstd)
#     # (rows, cols), (cols,), (cols,) -> (rows, cols), (rows,), (rows,)
# ```
#
# Stuck? `hint("layer_norm")`.

# %% tags=["broken"]
@cuda.jit
def layer_norm(x, gamma, beta, out, mean, rstd):
    """Write the LayerNorm of each row of x into out; one block per row."""
    values = cuda.local.array(VALUES, float32)
    row, first = cuda.blockIdx.x, 4 * cuda.threadIdx.x
    cols, width = x.shape[1], 4 * cuda.blockDim.x

    total = float32(0)
    # BEGIN SOLUTION
    # was: count = 0
    # was: for col in range(first, cols, width):
    # was:     piece = load4(x, (row, col))
    # was:     for n in range(4):
    # was:         values[count] = piece[n]
    # was:         total += piece[n]
    # was:         count += 1
    for k in range(PIECES):
        col = first + k * width
        if col < cols:
            four = load4(x, (row, col))
            for j in range(4):
                values[4 * k + j] = four[j]
                total += four[j]
    # END SOLUTION
    mu = block_sum(total, 0) / float32(cols)

    total = float32(0)
    # BEGIN SOLUTION
    # was: for i in range(count):
    # was:     total += (values[i] - mu) * (values[i] - mu)
    for k in range(PIECES):
        if first + k * width < cols:
            for j in range(4):
                total += (values[4 * k + j] - mu) * (values[4 * k + j] - mu)
    # END SOLUTION
    r = float32(1) / math.sqrt(block_sum(total, 1) / float32(cols) + EPS)
    if first == 0:
        mean[row], rstd[row] = mu, r

    # BEGIN SOLUTION
    # was: i = 0
    # was: for col in range(first, cols, width):
    # was:     w, v = load4(gamma, col), load4(beta, col)
    # was:     c = (values[i] - mu) * r * w[0] + v[0]
    # was:     d = (values[i + 1] - mu) * r * w[1] + v[1]
    # was:     e = (values[i + 2] - mu) * r * w[2] + v[2]
    # was:     f = (values[i + 3] - mu) * r * w[3] + v[3]
    # was:     store4(out, (row, col), c, d, e, f)
    # was:     i += 4
    for k in range(PIECES):
        col = first + k * width
        if col < cols:
            g, b = load4(gamma, col), load4(beta, col)
            p = (values[4 * k] - mu) * r * g[0] + b[0]
            q = (values[4 * k + 1] - mu) * r * g[1] + b[1]
            s = (values[4 * k + 2] - mu) * r * g[2] + b[2]
            t = (values[4 * k + 3] - mu) * r * g[3] + b[3]
            store4(out, (row, col), p, q, s, t)
    # END SOLUTION


# %%
def shifted(rng, rows, cols):
    """Return rows far from 0 or near it; weights and biases of the columns."""
    x = rng.normal(100, 1, (rows, 4 * cols)).astype(np.float32)
    x[1::2] = rng.normal(0, 0.003, x[1::2].shape)  # here EPS counts
    gamma, beta = rng.normal(0, 1, (2, 4 * cols)).astype(np.float32)
    return x, gamma, beta


check(
    layer_norm,
    spec=norm_of,
    inputs=shifted,
    sizes=[(1, 2), (3, 70), (2, 256)],
    launch=lambda rows, cols: (rows, 32 * -(-cols // 128)),
    full=(3000, 255),
    tolerance=1e-4,
    limits={"loads": 12, "load_bytes": 16, "local": 0, "float64": 0},
)

# %% [markdown] tags=["solution"]
# `count` grew in a loop whose length depends on `x.shape[1]`, so the element that it
# meant was not known before the launch. A loop over `range(PIECES)` always has four
# iterations. The compiler unrolls it, and `4 * k + j` becomes sixteen constants. Only a
# condition now depends on the shape, and conditions do no harm.
#
# Every other row in this check has a mean of 100 and a standard deviation of 1, and the
# tolerance is 1e-4. You could also compute the variance in one pass, as the mean of the
# squares minus the square of the mean, but that would subtract 10,000 from 10,001 and
# lose four digits. With the row in registers, there is no need for it. In the other
# rows of the check, the squares are as small as `EPS`.

# %% [markdown]
# ## Measure: registers
#
# Once a kernel has been compiled for a GPU, two methods report what it uses:
#
# - `kernel.get_regs_per_thread()`: registers per thread, for each signature;
# - `kernel.get_local_mem_per_thread()`: bytes of local memory per thread.
#
# You can also make the compiler use fewer registers: `@cuda.jit(max_registers=32)`.
# Values that do not fit are then **spilled**: stored in local memory, and loaded when
# they are needed. Why would anyone want that? An SM has 65,536 registers. The fewer
# registers each thread takes, the more threads can be resident at a time. An SM holds
# at most 2048 threads, and the share of them that is resident is the **occupancy**.
#
# Below is LayerNorm of 16,384 rows of 4096, with 256 threads per row: your kernel, your
# colleague's kernel with the unknown index, and your kernel with at most 32 and at most
# 24 registers. Which of these kernels do you expect to spill? Which will be the
# fastest? The ceiling is a copy, and `F.layer_norm` is 1.0.

# %%
guess = {"yours": None, "unknown index": None, "at most 24": None}


@cuda.jit
def norm_unknown(x, gamma, beta, out, mean, rstd):
    """layer_norm with indices that the compiler does not know."""
    kept = cuda.local.array(VALUES, float32)
    row, begin = cuda.blockIdx.x, 4 * cuda.threadIdx.x
    size, step = x.shape[1], 4 * cuda.blockDim.x

    filled, total = 0, float32(0)
    for col in range(begin, size, step):
        piece = load4(x, (row, col))
        for n in range(4):
            kept[filled] = piece[n]
            total += piece[n]
            filled += 1
    middle = block_sum(total, 0) / float32(size)

    total = float32(0)
    for i in range(filled):
        total += (kept[i] - middle) * (kept[i] - middle)
    r = float32(1) / math.sqrt(block_sum(total, 1) / float32(size) + EPS)
    if begin == 0:
        mean[row], rstd[row] = middle, r

    i = 0
    for col in range(begin, size, step):
        w, v = load4(gamma, col), load4(beta, col)
        c = (kept[i] - middle) * r * w[0] + v[0]
        d = (kept[i + 1] - middle) * r * w[1] + v[1]
        e = (kept[i + 2] - middle) * r * w[2] + v[2]
        f = (kept[i + 3] - middle) * r * w[3] + v[3]
        store4(out, (row, col), c, d, e, f)
        i += 4


def capped(kernel, registers):
    """Return the kernel, compiled with at most this many registers."""
    return cuda.jit(max_registers=registers)(kernel.py_func)


def norm_arrays(rows, cols):
    """Return x, gamma, beta, out, mean and rstd on the GPU."""
    torch.manual_seed(17)
    x = torch.randn(rows, cols, device="cuda") + 1
    gamma, beta = torch.randn(2, cols, device="cuda")
    mean, rstd = torch.empty(2, rows, device="cuda")
    return x, gamma, beta, torch.empty_like(x), mean, rstd


norm_kernels = {}


def register_candidates():
    arrays = norm_arrays(ROWS, COLS)
    x, gamma, beta, out = arrays[:4]
    args = list(map(cuda.as_cuda_array, arrays))
    norm_kernels.update({"yours": layer_norm, "unknown index": norm_unknown})
    for most in (32, 24):
        norm_kernels[f"at most {most}"] = capped(layer_norm, most)

    for kernel in norm_kernels.values():
        kernel[ROWS, 256](*args)
        near(out, F.layer_norm(x, (COLS,), gamma, beta))
    return {
        "copy": lambda: out.copy_(x),
        "F.layer_norm": lambda: F.layer_norm(x, (COLS,), gamma, beta),
    } | {
        name: lambda kernel=kernel: kernel[ROWS, 256](*args)
        for name, kernel in norm_kernels.items()
    }


registers_table = bench.compare(
    "LayerNorm, registers, 16384 x 4096 float32",
    register_candidates,
    baseline="F.layer_norm",
    bytes=2 * 4 * SIZE,
    ceiling="copy",
    guess=guess,
)
registers_table

# %%
bench.compiled(
    "LayerNorm",
    lambda: {name: (kernel, 256) for name, kernel in norm_kernels.items()},
)

# %% tags=["solution"]
registers_table.expect("yours", at_least=1.05)
registers_table.expect("yours", at_least=1.15, times="at most 24")
registers_table.expect("yours", at_least=1.5, times="unknown index")
registers_table.expect("yours", ceiling=0.88)

# %% [markdown] tags=["solution"]
# With at most 32 registers, an SM holds all 2048 threads that it can, but the kernel is
# slower. There were enough loads in flight before, and now each thread also stores and
# loads the values that it spills, which is extra traffic. With 24 registers, not even
# one more block fits, and five times as many bytes are spilled.
#
# And the unknown index? Your colleague's kernel reports no local memory, and yet it
# takes twice as long as yours on an H200, and 1.6 times as long on an H100. In PTX, the
# array is in local memory and takes 64 bytes, but the last stage, ptxas, has moved it
# to registers after all. The price is comparisons, and 56 registers: a warp executes
# 1689 instructions instead of 546, and issuing them takes most of the kernel's time. We
# also compiled the kernel for 32 elements per thread. Then the array really is in local
# memory, and on compute capability 10.0 this is already so for 16 elements.
#
# What counts is not the number of threads, but the number of bytes in flight, and
# whether anything else limits the kernel.

# %% [markdown]
# ## 5 · Backward: the rows
#
# The backward pass gets `dy`, the gradient of the output. Let $g_j = dy_j \gamma_j$,
# and let a bar mean the average over a row. Then the gradient of the input is
#
# $$dx_j = r \left( g_j - \overline{g} - \hat x_j \, \overline{g \hat x} \right),
#    \qquad \hat x_j = (x_j - \mu) \, r$$
#
# There are two sums over the row again, but neither needs the other. `mean` and `rstd`
# come from the forward pass. Read everything only once; `xs` is for $\hat x$, and `gs`
# is for $g$.
#
# ```python
# layer_norm_backward(x, dy, gamma, mean, rstd, dx)
#     # (rows, cols), (rows, cols), (cols,), (rows,), (rows,) -> (rows, cols)
# ```
#
# Stuck? `hint("layer_norm_backward")`.

# %% tags=["given"]
def going_back(rng, rows, cols):
    """Return the inputs of LayerNorm's backward pass."""
    x = rng.normal(3, 2, (rows, 4 * cols)).astype(np.float32)
    dy = rng.normal(0.5, 1, x.shape).astype(np.float32)
    gamma = rng.normal(1, 1, 4 * cols).astype(np.float32)
    _, mean, rstd = norm_of(x, gamma, gamma)
    return x, dy, gamma, mean, rstd


# %%
@cuda.jit
def layer_norm_backward(x, dy, gamma, mean, rstd, dx):
    """Write the gradient of LayerNorm's input into dx; one block per row."""
    xs = cuda.local.array(VALUES, float32)
    gs = cuda.local.array(VALUES, float32)
    row, first = cuda.blockIdx.x, 4 * cuda.threadIdx.x
    cols, width = x.shape[1], 4 * cuda.blockDim.x
    mu, r = mean[row], rstd[row]

    # about 25 lines
    # BEGIN SOLUTION
    sum_g, sum_gx = float32(0), float32(0)
    for k in range(PIECES):
        col = first + k * width
        if col < cols:
            four, back = load4(x, (row, col)), load4(dy, (row, col))
            weight = load4(gamma, col)
            for j in range(4):
                xs[4 * k + j] = (four[j] - mu) * r
                gs[4 * k + j] = back[j] * weight[j]
                sum_g += gs[4 * k + j]
                sum_gx += gs[4 * k + j] * xs[4 * k + j]

    a = block_sum(sum_g, 0) / float32(cols)
    b = block_sum(sum_gx, 1) / float32(cols)

    for k in range(PIECES):
        col = first + k * width
        if col < cols:
            i = 4 * k
            p = r * (gs[i] - a - xs[i] * b)
            q = r * (gs[i + 1] - a - xs[i + 1] * b)
            s = r * (gs[i + 2] - a - xs[i + 2] * b)
            t = r * (gs[i + 3] - a - xs[i + 3] * b)
            store4(dx, (row, col), p, q, s, t)
    # END SOLUTION


# %%
def norm_gradient(x, dy, gamma, mean, rstd):
    """Return the gradient of LayerNorm's input, by NumPy."""
    mean, rstd = mean[:, None], rstd[:, None]
    hat, g = (x - mean) * rstd, dy * gamma
    along = (g * hat).mean(axis=1, keepdims=True)
    return rstd * (g - g.mean(axis=1, keepdims=True) - hat * along)


check(
    layer_norm_backward,
    spec=norm_gradient,
    inputs=going_back,
    sizes=[(1, 2), (3, 70), (2, 256)],
    launch=lambda rows, cols: (rows, 32 * -(-cols // 128)),
    full=(3000, 255),
    tolerance=1e-4,
    limits={"loads": 14, "load_bytes": 14, "local": 0, "float64": 0},
)

# %% [markdown] tags=["solution"]
# The two sums could share a barrier, since neither needs the other: a `block_sum` of
# two values would be enough. The fused kernel below works this way.

# %% [markdown]
# ## 6 · Backward: the columns
#
# $\gamma$ and $\beta$ have gradients too. These are sums in the other direction, **down
# the columns**, through all rows:
#
# $$d\gamma_j = \sum_{\text{rows}} dy_j \, \hat x_j, \qquad
#    d\beta_j = \sum_{\text{rows}} dy_j$$
#
# There are 16,384 rows and 8192 sums. One thread per column would be only 4096 threads,
# and an H200 holds more than a quarter of a million. With atomic additions, one per
# element for each of the two gradients, there would be 134 million of them, all to the
# same 32 KB.
#
# So, as in chapter 14, use **two stages**. The rows are distributed over `gridDim.y`
# groups: group `p` takes the rows p, p + gridDim.y, p + 2 gridDim.y and so on. A thread
# belongs to one group and to four neighbouring columns. It goes down the rows of its
# group, adds to eight sums in registers, and at the end stores these sums in row `p` of
# `dgammas` and of `dbetas`. A second, small kernel adds up these rows.
#
# Write the first stage: no atomics, and four loads per row.
#
# ```python
# column_parts(x, dy, mean, rstd, dgammas, dbetas)
#     # (rows, cols), (rows, cols), (rows,), (rows,)
#     #     -> (groups, cols), (groups, cols)
# ```
#
# Stuck? `hint("column_parts")`.

# %%
@cuda.jit
def column_parts(x, dy, mean, rstd, dgammas, dbetas):
    """Add up, for each column, the rows of group blockIdx.y."""
    group, col = cuda.blockIdx.y, 4 * cuda.grid(1)

    # about 14 lines
    # BEGIN SOLUTION
    if col < x.shape[1]:
        a = b = c = d = float32(0)
        e = f = g = h = float32(0)
        for row in range(group, x.shape[0], cuda.gridDim.y):
            four, back = load4(x, (row, col)), load4(dy, (row, col))
            middle, r = mean[row], rstd[row]
            a += back[0] * (four[0] - middle) * r
            b += back[1] * (four[1] - middle) * r
            c += back[2] * (four[2] - middle) * r
            d += back[3] * (four[3] - middle) * r
            e, f = e + back[0], f + back[1]
            g, h = g + back[2], h + back[3]
        store4(dgammas, (group, col), a, b, c, d)
        store4(dbetas, (group, col), e, f, g, h)
    # END SOLUTION


# %%
def groups(rows):
    return 2 + rows % 3


def parts_of(x, dy, mean, rstd):
    """Return the sums of each group of rows, by NumPy."""
    products = dy * (x - mean[:, None]) * rstd[:, None]
    step = groups(len(x))
    return tuple(
        np.stack([terms[p::step].sum(axis=0) for p in range(step)])
        for terms in (products, dy)
    )


def without_gamma(rng, rows, cols):
    x, dy, _, mean, rstd = going_back(rng, rows, cols)
    return x, dy, mean, rstd


check(
    column_parts,
    spec=parts_of,
    inputs=without_gamma,
    sizes=[(3, 1), (10, 70), (8, 33)],
    launch=lambda rows, cols: (
        (-(-cols // threads(cols)), groups(rows)),
        threads(cols),
    ),
    full=(999, 500),
    tolerance=1e-4,
    limits={
        "atomics": 0,
        "load_bytes": 9,
        "store_bytes": 16,
        "loads": 8,
        "float64": 0,
    },
)

# %% [markdown]
# Each thread goes down its columns, which sounds like the worst possible way to read a
# matrix. Is it? Look at what a *warp* reads in one iteration.

# %%
few = without_gamma(np.random.default_rng(17), 4, 32)
explore(column_parts)[(1, 2), 32](*few, *np.zeros((2, 2, 128), np.float32))

# %% [markdown] tags=["solution"]
# The 32 lanes read 512 consecutive bytes: 16 sectors of 32 bytes, and all their bytes
# are needed. Each thread walks down its columns, and the other threads of its warp walk
# beside it. `mean` and `rstd` are the same for all lanes, so each of these two loads
# touches one sector.

# %% [markdown]
# ## Read: both at once
#
# `layer_norm_backward` and `column_parts` both read `x` and `dy`, so five arrays move
# where three would be enough. Can one kernel compute both?
#
# The difficulty is that one kernel adds up along rows and the other down columns. The
# solution is a **persistent** block, which takes *many* rows, one after the other. A
# thread has the same columns in each row, so it can keep the sums of these columns in
# registers from row to row, until its block has no rows left. Then it stores the sums.
# Each *block* writes one row of `dgammas` and one of `dbetas`.
#
# A block now runs for a long time, and it waits in every row: first for its loads, then
# at the barrier. Something has to use that time: either **another block** on the same
# SM, or the block itself, if it requests the next row before it adds up the current row
# (`ahead`). Loading ahead takes more registers. The two sums share a barrier, and
# `turn` changes from row to row, so one barrier per row is enough.
#
# The registers have to hold $\hat x$ and $g$ of the current row, two sums and $\gamma$
# for each column and, with `ahead`, `x` and `dy` of the next row. With *p* elements per
# thread, that is 5 *p* or 7 *p* registers, plus whatever else a kernel needs.
#
# For 8192 columns, *p* is 16, and the registers are full. So the next row of `x` goes
# to **shared memory** instead: `copy4_async` starts a copy that does not go through a
# register, `commit_group()` closes the group of these copies, and `wait_group(0)`, one
# row later, waits until they have arrived. A thread copies and reads only its own
# cells, so no barrier is needed. Chapter 19 loads its tiles with the same instruction.
#
# The function `norm_backward` makes these kernels: for LayerNorm and for RMSNorm
# (`centred` or not), and for rows of `4 * pieces * threads` columns.

# %% tags=["given"]
@cuda.jit(device=True, inline=True)
def fetch(x, row, first, pieces, threads, v):
    """Load a thread's part of a row into v."""
    for k in range(pieces):
        four = load4(x, (row, first + 4 * threads * k))
        for n in range(4):
            v[4 * k + n] = four[n]


@cuda.jit(device=True, inline=True)
def send(x, row, first, pieces, threads, tile):
    """Start copying a thread's part of a row into a tile in shared memory."""
    for k in range(pieces):
        col = first + 4 * threads * k
        copy4_async(tile, (0, col), x, (row, col), True)
    commit_group()


WIDE = "shared"  # where x of the next row arrives, for 8192 columns
if weft.GPU and weft.device.find().capability < (8, 0):
    WIDE = "no"  # there is no copy4_async


@functools.cache
def norm_backward(centred, pieces, threads, ahead="no", most=None):
    """Make the backward pass of a norm, with at most `most` registers.

    ahead: "no", or where x of the next row arrives: "registers", "shared".
    """
    count, warps = 4 * pieces, threads // 32
    early, sent = ahead != "no", ahead == "shared"
    cols = count * threads if sent else 4
    options = {"max_registers": most} if most else {}

    @cuda.jit(**options)
    def kernel(x, dy, gamma, mean, rstd, dx, dgammas, dbetas):
        cells = cuda.shared.array((2, 2, 32), float32)
        tile = cuda.shared.array((1, cols), float32, alignment=16)
        v = cuda.local.array(count, float32)  # x, then normalised
        w = cuda.local.array(count, float32)  # dy, then times gamma
        v2 = cuda.local.array(count, float32)  # of the next row
        w2 = cuda.local.array(count, float32)
        dg = cuda.local.array(count, float32)  # sums of columns
        db = cuda.local.array(count, float32)
        gs = cuda.local.array(count, float32)
        me = int32(cuda.threadIdx.x)
        first, lane = 4 * me, me % 32
        rows, step = int32(x.shape[0]), int32(cuda.gridDim.x)
        share = float32(1) / float32(x.shape[1])
        for k in range(pieces):
            four = load4(gamma, first + 4 * threads * k)
            for n in range(4):
                gs[4 * k + n] = four[n]
                dg[4 * k + n] = db[4 * k + n] = float32(0)

        row, turn = int32(cuda.blockIdx.x), int32(0)
        mu2 = r2 = float32(0)
        if row < rows:
            mu2, r2 = mean[row], rstd[row]
            if sent:
                send(x, row, first, pieces, threads, tile)
            elif early:
                fetch(x, row, first, pieces, threads, v2)
            if early:
                fetch(dy, row, first, pieces, threads, w2)
        while row < rows:
            mu, r, then = mu2, r2, row + step
            if sent:
                wait_group(0)
                fetch(tile, 0, first, pieces, threads, v)
            for i in range(count):
                if early:
                    w[i] = w2[i]
                if early and not sent:
                    v[i] = v2[i]
            if not early:
                fetch(x, row, first, pieces, threads, v)
                fetch(dy, row, first, pieces, threads, w)
            if then < rows:
                mu2, r2 = mean[then], rstd[then]
                if sent:
                    send(x, then, first, pieces, threads, tile)
                elif early:
                    fetch(x, then, first, pieces, threads, v2)
                if early:
                    fetch(dy, then, first, pieces, threads, w2)

            a = b = float32(0)
            for i in range(count):
                if centred:
                    v[i] -= mu
                v[i] *= r
                dg[i] += w[i] * v[i]
                if centred:
                    db[i] += w[i]
                w[i] *= gs[i]
                a += w[i]
                b += w[i] * v[i]
            b = warp_sum(b)
            if centred:
                a = warp_sum(a)
            if lane == 0:
                cells[turn, 0, me // 32] = b
                if centred:
                    cells[turn, 1, me // 32] = a
            cuda.syncthreads()
            b = share * warp_sum(
                cells[turn, 0, lane] if lane < warps else float32(0)
            )
            a = float32(0)
            if centred:
                a = share * warp_sum(
                    cells[turn, 1, lane] if lane < warps else float32(0)
                )
            turn = int32(1) - turn

            for k in range(pieces):
                i = 4 * k
                p = r * (w[i] - a - v[i] * b)
                q = r * (w[i + 1] - a - v[i + 1] * b)
                s = r * (w[i + 2] - a - v[i + 2] * b)
                t = r * (w[i + 3] - a - v[i + 3] * b)
                store4(dx, (row, first + 4 * threads * k), p, q, s, t)
            row = then

        for k in range(pieces):
            i, at = 4 * k, (int32(cuda.blockIdx.x), first + 4 * threads * k)
            store4(dgammas, at, dg[i], dg[i + 1], dg[i + 2], dg[i + 3])
            if centred:
                store4(dbetas, at, db[i], db[i + 1], db[i + 2], db[i + 3])

    return kernel


@cuda.jit
def add_parts(dgammas, dbetas, dgamma, dbeta):
    """Add up the rows of both; blocks of (32, 16), 32 columns each."""
    cells = cuda.shared.array((16, 32), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    col = 32 * cuda.blockIdx.x + x
    parts, out = dgammas, dgamma
    if cuda.blockIdx.y == 1:
        parts, out = dbetas, dbeta

    total = float32(0)
    if col < parts.shape[1]:
        for part in range(y, parts.shape[0], 16):
            total += parts[part, col]
    cells[y, x] = total
    cuda.syncthreads()

    if y == 0 and col < parts.shape[1]:
        for k in range(1, 16):
            total += cells[k, x]
        out[col] = total


# %% [markdown]
# Does `norm_backward` compute the right gradients, for both norms and for each way of
# loading ahead? The next cell compares them with NumPy's, with three blocks for eight
# rows.

# %%
x, dy, gamma, mean, rstd = going_back(np.random.default_rng(17), 8, 64)
rms = (1 / np.sqrt((x**2).mean(axis=1) + EPS)).astype(np.float32)
for name, centred, ahead, mu, r in (
    ("LayerNorm", True, "no", mean, rstd),
    ("RMSNorm", False, "registers", 0 * mean, rms),
    ("LayerNorm", True, WIDE, mean, rstd),
    ("RMSNorm", False, WIDE, 0 * mean, rms),
):
    given = [cuda.to_device(a) for a in (x, dy, gamma, mu, r)]
    d_dx = cuda.to_device(x)
    zeros = np.zeros((3, 256), np.float32)
    parts = [cuda.to_device(zeros) for _ in range(2)]
    sums = [cuda.to_device(zeros[0]) for _ in range(2)]
    norm_backward(centred, 1, 64, ahead)[3, 64](*given, d_dx, *parts)
    add_parts[(8, 2), (32, 16)](*parts, *sums)
    dx, dgamma, dbeta = (a.copy_to_host() for a in (d_dx, *sums))

    hat, g = (x - mu[:, None]) * r[:, None], dy * gamma
    wanted = norm_gradient(x, dy, gamma, mu, r)
    if not centred:
        wanted = r[:, None] * (g - hat * (g * hat).mean(axis=1, keepdims=True))
    assert np.allclose(dx, wanted, atol=1e-5)
    assert np.allclose(dgamma, (dy * hat).sum(axis=0), atol=1e-4)
    assert np.allclose(dbeta, dy.sum(axis=0) * centred, atol=1e-4)
    print(f"{name}, {ahead}: dx is off by {np.abs(dx - wanted).max():.0e}")

# %% [markdown]
# ## Measure: LayerNorm, backward
#
# The size is 16,384 × 4096. *Rows, then columns* runs your two kernels and the kernel
# that adds up the parts. By hand, that moves five arrays, or 1.34 GB. *Both at once*
# moves three arrays, or 0.81 GB, and so does the copy. PyTorch's own backward pass has
# one kernel for the rows and others for the columns. If PyTorch is 1.0, what will the
# table say?

# %%
guess = {
    "rows, then columns": None,
    "both at once": None,
    "torch.compile": None,
}
sms = weft.device.find().sms or 132
HOW = {  # columns -> pieces, threads, ahead, blocks on each SM
    1024: (1, 256, "registers", 5),
    4096: (2, 512, "no", 2),
    8192: (4, 512, WIDE, 1),
}


def layer_in_torch(x, gamma, beta):
    return F.layer_norm(x, gamma.shape, gamma, beta, float(EPS))


def rms_in_torch(x, gamma, beta):
    return F.rms_norm(x, gamma.shape, gamma, float(EPS))


def fused_backward(how, centred, cols, *arrays, most=None):
    """Return the launch of both kernels, the first kernel, and the sums."""
    pieces, threads, ahead, each = how
    kernel = norm_backward(centred, pieces, threads, ahead, most)
    blocks = each * sms
    parts = torch.empty(2, blocks, cols, device="cuda")
    sums = torch.empty(2, cols, device="cuda")
    d_parts = [cuda.as_cuda_array(p) for p in (*parts, *sums)]
    args = [*map(cuda.as_cuda_array, arrays), *d_parts[:2]]

    def launch():
        kernel[blocks, threads](*args)
        add_parts[(cols // 32, 1 + centred), (32, 16)](*d_parts)

    launch()
    return launch, kernel, sums


def backward_arrays(rows, cols, centred):
    """Return torch's gradients as a function of y, and our arguments."""
    x, gamma, beta, dx, mean, rstd = norm_arrays(rows, cols)
    dy = torch.randn_like(x)
    wide = x.double()
    mean.copy_(wide.mean(1) if centred else torch.zeros_like(mean))
    square = (wide - mean.double()[:, None]).square().mean(1)
    rstd.copy_(torch.rsqrt(square + float(EPS)))

    leaves = [t.requires_grad_() for t in (x, gamma, beta)][: 2 + centred]

    def back(y):
        return torch.autograd.grad(y, leaves, dy, retain_graph=True)

    return back, (x, gamma, beta), (x, dy, gamma, mean, rstd, dx)


def backward_candidates():
    back, given, arrays = backward_arrays(ROWS, COLS, True)
    arrays = [t.detach() for t in arrays]
    x, dy, gamma, mean, rstd, dx = map(cuda.as_cuda_array, arrays)
    y, compiled_y = layer_in_torch(*given), compiled(layer_in_torch)(*given)
    parts = torch.empty(2, 264, COLS, device="cuda")
    sums = torch.empty(2, COLS, device="cuda")
    d_parts = [cuda.as_cuda_array(p) for p in (*parts, *sums)]

    def apart():
        layer_norm_backward[ROWS, 256](x, dy, gamma, mean, rstd, dx)
        column_parts[(8, 264), 128](x, dy, mean, rstd, *d_parts[:2])
        add_parts[(COLS // 32, 2), (32, 16)](*d_parts)

    aims = back(y)
    both, _, totals = fused_backward(HOW[COLS], True, COLS, *arrays)
    for found in (totals, sums):
        near(arrays[-1], aims[0], 1e-4)
        near(found[0], aims[1], 1e-4)
        near(found[1], aims[2], 1e-4)
        apart()
    return {
        "copy": copies(3),
        "PyTorch": lambda: back(y),
        "torch.compile": lambda: back(compiled_y),
        "rows, then columns": apart,
        "both at once": both,
    }


backward_table = bench.compare(
    "LayerNorm backward, rungs, 16384 x 4096 float32",
    backward_candidates,
    baseline="PyTorch",
    bytes=3 * 4 * SIZE,
    ceiling="copy",
    guess=guess,
)
backward_table

# %% tags=["solution"]
backward_table.expect("both at once", at_least=1.5)
backward_table.expect("both at once", at_least=1.4, times="rows, then columns")
backward_table.expect("both at once", ceiling=0.88)

# %% [markdown] tags=["solution"]
# *Both at once* moves three arrays instead of five. Sums along the rows and sums down
# the columns are two reductions, and PyTorch's own kernels read the data once for each.
# `torch.compile` must have fused the two, as `norm_backward` does, since five arrays
# would take 0.32 ms at the speed of an H200's copy.

# %% [markdown]
# ## Measure: how many registers are best?
#
# Here are six versions of the same kernel, for 4096 columns:
#
# | | threads | columns per thread | ahead | registers | blocks on an SM |
# | --- | ---: | ---: | --- | ---: | ---: |
# | two blocks | 512 | 8 | no | 56 | 2 |
# | one block, ahead | 512 | 8 | yes | 72 | 1 |
# | two blocks, ahead | 512 | 8 | yes | at most 64 | 2 |
# | three blocks, ahead | 512 | 8 | yes | at most 40 | 3 |
# | large block | 1024 | 4 | no | 40 | 1 |
# | large block, ahead | 1024 | 4 | yes | 48 | 1 |
#
# 512 × 72 is 36,864, which is more than half of an SM's 65,536 registers, so only one
# block fits. With at most 64 registers there is room for two blocks, and with at most
# 40 for three. Values that do not fit are spilled. In which of the versions is nothing
# loaded while a block waits? Which versions spill? Sort all six by speed before you
# look.

# %%
guess = {
    "one block, ahead": None,
    "three blocks, ahead": None,
    "large block": None,
}
back_kernels = {}


def register_variants():
    _, _, arrays = backward_arrays(ROWS, COLS, True)
    arrays = [t.detach() for t in arrays]
    candidates = {"copy": copies(3)}
    for name, how, most in (
        ("two blocks", (2, 512, "no", 2), None),
        ("one block, ahead", (2, 512, "registers", 1), None),
        ("two blocks, ahead", (2, 512, "registers", 2), 64),
        ("three blocks, ahead", (2, 512, "registers", 3), 40),
        ("large block", (1, 1024, "no", 1), None),
        ("large block, ahead", (1, 1024, "registers", 1), None),
    ):
        candidates[name], kernel, _ = fused_backward(
            how, True, COLS, *arrays, most=most
        )
        back_kernels[name] = kernel, how[1]
    return candidates


variants_table = bench.compare(
    "LayerNorm backward, registers, 16384 x 4096 float32",
    register_variants,
    baseline="two blocks",
    bytes=3 * 4 * SIZE,
    ceiling="copy",
    guess=guess,
)
variants_table

# %%
bench.compiled("LayerNorm backward", lambda: back_kernels)

# %% tags=["solution"]
variants_table.expect("two blocks", at_least=1.8, times="three blocks, ahead")

# %% [markdown] tags=["solution"]
# Two blocks take turns: one loads while the other waits. One block that loads ahead
# takes turns with itself. Either is enough. The large block has as many threads as the
# two blocks together, but they all wait at the same barrier, and nothing is loaded
# meanwhile. Loading ahead fixes this.
#
# Two blocks that load ahead would be better still if registers were free. They are not.
# With 24 bytes of spills per thread, in a loop that runs for every row, spilling costs
# more time than loading ahead gains. With 40 registers per thread, the spills take
# longer than everything else in the kernel.

# %% [markdown]
# ## Measure: where should the next row go?
#
# For 8192 columns, a thread has 16 elements. By hand, that is 80 registers, or 112 if
# it loads ahead, plus whatever else it needs. In a block of 512 threads, each thread
# may have 128 registers, and one block fits on an SM. The next row of `dy` arrives in
# registers; the next row of `x` arrives either there or in shared memory:
#
# | | registers | shared memory | blocks on an SM |
# | --- | ---: | ---: | ---: |
# | not ahead | 96 | 0.5 KB | 1 |
# | ahead in registers | 128 | 0.5 KB | 1 |
# | ahead in shared memory | 119 | 32.5 KB | 1 |
#
# None of these kernels spills. If *not ahead* is 1.0, how fast are the other two?

# %%
guess = {"ahead in registers": None, "ahead in shared memory": None}
wide_kernels = {}


def wide_variants():
    back, given, arrays = backward_arrays(8192, 8192, True)
    arrays = [t.detach() for t in arrays]
    aims = back(layer_in_torch(*given))
    candidates = {"copy": copies(3)}
    for name, ahead in (
        ("not ahead", "no"),
        ("ahead in registers", "registers"),
        ("ahead in shared memory", "shared"),
    ):
        if ahead == "shared" and WIDE != "shared":
            continue
        candidates[name], kernel, sums = fused_backward(
            (4, 512, ahead, 1), True, 8192, *arrays
        )
        for found, aim in zip((arrays[-1], *sums), aims, strict=True):
            near(found, aim, 1e-4)
        wide_kernels[name] = kernel, 512
    return candidates


wide_table = bench.compare(
    "LayerNorm backward, next row, 8192 x 8192 float32",
    wide_variants,
    baseline="not ahead",
    bytes=3 * 4 * SIZE,
    ceiling="copy",
    guess=guess,
)
wide_table

# %%
bench.compiled("LayerNorm backward, next row", lambda: wide_kernels)

# %% tags=["solution"]
if WIDE == "shared":
    wide_table.expect("ahead in shared memory", at_least=1.02)
    wide_table.expect(
        "ahead in shared memory", at_least=1, times="ahead in registers"
    )
    wide_table.expect("ahead in shared memory", ceiling=0.92)

# %% [markdown] tags=["solution"]
# A load occupies its destination register for as long as it is in flight. An
# asynchronous copy to shared memory occupies no register while it is in flight. Loading
# both arrays ahead into registers takes all 128. Nothing is spilled, and on an H200
# this gains nearly as much as shared memory does, but no register is left for anything
# else. (On an H100, neither way gains anything.) With `x` in shared memory, just as
# many bytes are in flight, and a thread has registers to spare.

# %% [markdown]
# ## Measure: three shapes, four kernels
#
# The rows have 1024, 4096 or 8192 columns, and the arrays 2^25 or 2^26 elements.
# LayerNorm and RMSNorm run forward and backward, in training mode, so all versions keep
# what the backward pass needs. The forward kernels are yours, with one thread for every
# 16 columns; the backward kernels are those of `norm_backward`. In the tables, both are
# called *yours*. They are compared with a copy of the same number of bytes, with
# PyTorch and with `torch.compile`.
#
# Guess one number: how many times as fast as PyTorch are these kernels, on average?

# %%
guess = {"yours": None}
SHAPES = ((32768, 1024), (16384, 4096), (8192, 8192))


def forward_candidates(rows, cols, centred):
    def build():
        arrays = norm_arrays(rows, cols)
        x, gamma, beta, out = arrays[:4]
        args = list(map(cuda.as_cuda_array, arrays))
        if not centred:
            args = [args[0], args[1], args[3], args[5]]
        kernel = layer_norm if centred else rms_norm
        kernel[rows, cols // 16](*args)
        torch_norm = layer_in_torch if centred else rms_in_torch
        near(out, torch_norm(x, gamma, beta))

        given = [t.requires_grad_() for t in (x, gamma, beta)]
        candidates = {
            "copy": lambda: out.copy_(x.detach()),
            "PyTorch": lambda: torch_norm(*given),
            "yours": lambda: kernel[rows, cols // 16](*args),
        }
        torch_made = compiled(torch_norm)
        candidates["torch.compile"] = lambda: torch_made(*given)
        return candidates

    return build


def back_candidates(rows, cols, centred):
    def build():
        back, given, arrays = backward_arrays(rows, cols, centred)
        arrays = [t.detach() for t in arrays]
        torch_norm = layer_in_torch if centred else rms_in_torch
        y = torch_norm(*given)
        yours, _, sums = fused_backward(HOW[cols], centred, cols, *arrays)
        for found, aim in zip((arrays[-1], *sums), back(y), strict=False):
            near(found, aim, 1e-4)

        source = torch.empty(3 * rows * cols // 2, device="cuda")
        target = torch.empty_like(source)
        candidates = {
            "copy": lambda: target.copy_(source),
            "PyTorch": lambda: back(y),
            "yours": yours,
        }
        compiled_y = compiled(torch_norm)(*given)
        candidates["torch.compile"] = lambda: back(compiled_y)
        return candidates

    return build


def overview(tables):
    """Print one line for each table: yours beside the others."""
    heads = f"{'copy':>11}{'of copy':>9}{'x PyTorch':>11}{'x compile':>11}"
    print(f"{'':34}{heads}")
    for name, table in tables.items():
        ms = {row.name: row.ms for row in table}
        if not ms:
            continue
        others = [ms.get(n, math.nan) for n in ("PyTorch", "torch.compile")]
        against = "".join(
            f"{other / ms['yours']:11.2f}" if other == other else f"{'-':>11}"
            for other in others
        )
        share = ms["copy"] / ms["yours"]
        print(f"{name:34}{ms['copy'] * 1e3:8.1f} us{share:9.1%}{against}")


tables = {}
for centred in (True, False):
    for way, make in (("", forward_candidates), (" backward", back_candidates)):
        for rows, cols in SHAPES:
            kind = "LayerNorm" if centred else "RMSNorm"
            name = f"{kind}{way}, {rows} x {cols}"
            tables[name] = bench.compare(
                f"{name} float32",
                make(rows, cols, centred),
                baseline="PyTorch",
                bytes=(3 if way else 2) * 4 * rows * cols,
                ceiling="copy",
                guess=guess,
            )
overview(tables)

# %%
tables["LayerNorm backward, 8192 x 8192"]

# %% tags=["solution"]
for name, table in tables.items():
    table.expect("yours", at_least=1.3 if "backward" in name else 1)
    table.expect("yours", ceiling=0.88)

# %% [markdown]
# ## If you want more
#
# - The gradient of `bias` in the layer is the column sums of `dx`. Fuse them into
#   `layer_backward`, as *both at once* does. What has to change in its grid?
# - LayerNorm often follows `y = x + dropout(...)`. Fuse this residual connection into
#   the norm. By hand, how many bytes does that save?
# - In bfloat16 (chapter 16: `bf16_low`, `bf16_pair`), half as many bytes move. For how
#   many instructions per 32 elements is there time then? Which kernels of this lab
#   would no longer be memory-bound?
# - Use fewer rounds of Philox: seven are said to pass all tests of randomness, too. How
#   much time does this save?
# - For rows of 16,384 columns, `norm_backward` does not have enough registers. Put the
#   column sums into shared memory, where each thread has four cells of its own for each
#   piece.
# - What if a row does not fit in one block (chapter 16)? Welford's or Chan's algorithm
#   merges pairs of a mean and a sum of squares, as `merge` does with a maximum and a
#   sum.
#
# ## What you learned
#
# 1. A chain of small operations waits for launches, and a chain of large operations
#    waits for memory. A graph removes the launches. Fusion saves both launches and
#    bytes.
# 2. A graph freezes its arguments. A value that changes from replay to replay has to be
#    in memory.
# 3. A random number can be a function of a position and a step. Then a mask need not be
#    stored, and every launch makes the same mask.
# 4. Registers have no address, so an index that the compiler does not know costs memory
#    accesses or comparisons. Values that do not fit in the registers are spilled. The
#    compiled kernel reports both registers and local memory.
# 5. Some sums run along rows, others down columns. A block that takes many rows keeps
#    the sums of its columns in registers, so one read is enough for both kinds of sum.

# %%
quiz()
