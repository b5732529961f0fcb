# %% [markdown]
# # 26 · cuRAND and cuFFT
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/26_curand_cufft.ipynb)
#
# **After this lab, you can**
#
# - write Philox, the random generator of PyTorch and cuRAND on a GPU, and check it bit
#   by bit;
# - convert 32 random bits into a float32 that is never 1;
# - compute which counter an element of `torch.rand` came from, and explain why cuRAND's
#   numbers differ although the generator and the seed are the same;
# - write a dropout that keeps two numbers for its backward pass instead of a mask;
# - describe any layout to cuFFT, with batches, strides, and real or complex numbers;
# - filter signals by FFT with a fast size, the right factor and no wrap-around.
#
# **You need** about 110 minutes. You do not need a GPU: without one, kernels run in the
# simulator, calls of the libraries go to a model of them, and the measurements show
# times from the reference GPU, an H200. If you use a GPU, it needs compute capability
# 7.5 or higher and 10 GB of memory.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import itertools
from dataclasses import dataclass

import numpy as np
import torch
from numba import cuda, float32, int32, uint32
from torch.nn import functional

from weft import check, hint, quiz
from weft.intrinsics import mul_wide
from weft.libraries import cufft, curand, on_device
from weft.libraries.cufft import Type
from weft.libraries.philox import open_at_zero, words

chapter = weft.lab("26_curand_cufft")
checks = chapter.checks

# %% [markdown]
# ## 1 · Ten rounds
#
# Chapter 17 gave you a random generator that has no state. Here you write this
# generator. **Philox4x32-10** is a function of four 32-bit **counters** `a, b, c, d`
# and a **key** of two numbers. It scrambles the counters in ten identical rounds. In
# one round,
#
# - `a` is multiplied by `0xD2511F53` and `c` by `0xCD9E8D57`. Each product has 64 bits,
#   split into an upper and a lower half.
# - The new `a` is the upper half of *c's* product, xor `b`, xor the first number of the
#   key.
# - The new `b` is the lower half of *c's* product.
# - The new `c` is the upper half of *a's* product, xor `d`, xor the second number of
#   the key.
# - The new `d` is the lower half of *a's* product.
#
# After each round, the key changes: `0x9E3779B9` is added to its first number and
# `0xBB67AE85` to its second number. These sums are taken modulo 2^32.
#
# Thread `i` scrambles row `i` of `counters`. All threads use the same key, so copy its
# two numbers into variables before you change them.
#
# ```python
# philox(counters, key, out)    # (n, 4), (2,) -> (n, 4)  uint32
# ```
#
# `mul_wide(a, b)` returns the upper and the lower half of a product, in this order. In
# Numba the sum of two uint32 has 64 bits, so write `uint32(k + WEYL[0])`. Stuck? Run
# `hint("philox")`; there are three hints.

# %% tags=["given"]
MULTIPLIERS = np.uint32(0xD2511F53), np.uint32(0xCD9E8D57)
WEYL = np.uint32(0x9E3779B9), np.uint32(0xBB67AE85)
ROUNDS = 10

# %%
@cuda.jit
def philox(counters, key, out):
    """Scramble each row of counters with Philox4x32-10."""
    i = cuda.grid(1)

    # about 10 lines
    # BEGIN SOLUTION
    if i < counters.shape[0]:
        a, b = counters[i, 0], counters[i, 1]
        c, d = counters[i, 2], counters[i, 3]
        k, m = key[0], key[1]
        for _ in range(ROUNDS):
            upper, lower = mul_wide(MULTIPLIERS[0], a)
            upper2, lower2 = mul_wide(MULTIPLIERS[1], c)
            a, b = uint32(upper2 ^ b ^ k), lower2
            c, d = uint32(upper ^ d ^ m), lower
            k, m = uint32(k + WEYL[0]), uint32(m + WEYL[1])
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = a, b, c, d
    # END SOLUTION

# %% [markdown]
# The check compares your results with the **known answers** that the authors of Philox
# publish for three cases: counters whose bits are all 0, all 1, or digits of pi. Then
# it compares many other results with a reference implementation. If a word is wrong,
# ten rounds of scrambling have hidden the cause. So let your loop run only once, and
# run the check again. The check recognises the words after each round, and several
# common mistakes.

# %%
check(
    philox,
    spec=checks.philox_words,
    inputs=checks.counters_and_key,
    sizes=[1, 5, 39],
    launch=lambda n: (-(-n // 32), 32),
    because=checks.likely_mistake,
    full=100_003,
    limits={"float64": 0},
)

# %% [markdown] tags=["solution"]
# The result of Philox depends only on its arguments. So a thread needs neither a state
# in memory nor the previous number, and element 10^12 of a sequence takes no longer to
# compute than element 0.

# %% [markdown]
# ## 2 · Never 1
#
# A uniform random number usually has to be in [0, 1): 0 is allowed, 1 is not. Then
# `int(u * n)` is a valid index, and `log(1 - u)` is finite.
#
# The obvious formula is `word * 2**-32`. It would be right with exact arithmetic, but a
# float32 has only 24 significant bits, so a word near 2^32 is rounded *up*, to 2^32.
# This happens for 128 of the 2^32 words, which is rare enough to pass most tests, but
# frequent enough to stop a training run in its third week.
#
# So first drop the bits that do not fit. Keep the **upper 24 bits** of the word, which
# a float32 represents exactly, and multiply them by 2^-24. Stuck? `hint("uniform")`.
#
# ```python
# uniform(words, out)    # (n,) uint32 -> (n,) float32 from [0, 1)
# ```

# %%
@cuda.jit
def uniform(words, out):
    """Turn random words into floats in [0, 1)."""
    i = cuda.grid(1)

    # about 2 lines
    # BEGIN SOLUTION
    if i < words.size:
        out[i] = float32(words[i] >> uint32(8)) * float32(2**-24)
    # END SOLUTION

# %%
check(
    uniform,
    spec=checks.upper_24,
    inputs=checks.some_words,
    sizes=[6, 1, 70],
    launch=lambda n: (-(-n // 32), 32),
    full=1_000_003,
    tolerance=0,
    limits={"float64": 0},
    because=checks.odd_bits,
)

# %% [markdown] tags=["solution"]
# The largest result is 1 - 2^-24, the float32 just below 1. Keeping the upper bits has
# another advantage: in some generators (not in Philox), the lower bits are less random.
#
# cuRAND excludes 0 instead of 1. Its `curand_uniform` computes
# `word * 2**-32 + 2**-33`, which is in (0, 1]: the result is never 0, so `log(u)` is
# finite, but it can be 1. PyTorch's kernel calls `curand_uniform`, and replaces every 1
# with 0.

# %% tags=["solution"]
edges = np.uint32([0, 0xFFFFFF7F, 0xFFFFFF80, checks.ONES])
print("words        ", [f"{word:#x}" for word in edges])
print("naive        ", (edges.astype(np.float32) * np.float32(2**-32)).tolist())
print("[0, 1)       ", checks.upper_24(edges).tolist())
print("cuRAND (0, 1]", open_at_zero(edges).tolist())

# %% [markdown]
# ## Look: the same generator, the same seed
#
# With cuRAND's host API, you create a generator and set its seed, and its offset and
# ordering if necessary. Then you generate the numbers, and destroy the generator.
# (Without a GPU, the calls go to a model of cuRAND, which supports only Philox.)

# %%
generator = curand.create_generator(curand.RngType.PSEUDO_PHILOX4_32_10)
curand.set_pseudo_random_generator_seed(generator, 42)
numbers = on_device(torch.zeros(8))
curand.generate_uniform(generator, numbers.data_ptr(), 8)
curand.destroy_generator(generator)
of_curand = numbers.cpu().numpy()

# What torch.rand(8, device="cuda") gave on an H200 after torch.manual_seed(42)
of_torch = np.float32(
    [
        *(0.61295986, 0.010058844, 0.3984137, 0.040308397),
        *(0.15626675, 0.48247308, 0.7362473, 0.40598196),
    ]
)
if weft.GPU:
    torch.manual_seed(42)
    of_torch = torch.rand(8, device="cuda").cpu().numpy()
print("cuRAND ", of_curand)
print("PyTorch", of_torch)

# %% [markdown]
# Both libraries use Philox4x32-10 with the seed 42, but only the first numbers agree.
# The libraries differ in *which counter makes which element*.
#
# The seed is the key. One evaluation of Philox makes four numbers from one counter. The
# 128 bits of a counter have two parts: `a` and `b` count from 0, and `c` and `d`
# contain the number of a **subsequence**, so that every thread can have its own 2^64
# counters. `words(seed, subsequence, counter, word)` returns one of the four results,
# or an array of results if you pass arrays:

# %%
zero_to_7 = np.arange(8)
in_fours = words(42, zero_to_7 // 4, 0, zero_to_7 % 4)
print("cuRAND: ", np.array_equal(open_at_zero(in_fours), of_curand))

# %% [markdown]
# So cuRAND takes all four numbers of subsequence 0, then all four of subsequence 1, and
# so on, through 65,536 subsequences, before it returns to subsequence 0 with the next
# counter. In which order does PyTorch take the numbers?
#
# ## 3 · Who made this element?
#
# The Python code below does what one thread of the kernel for `torch.rand` does. The
# kernel has `threads` threads, each with its own subsequence. `offset` belongs to the
# generator. It is the number of random numbers that earlier calls have used from each
# subsequence, and is always a multiple of 4.
#
# ```python
# counter = offset // 4
# for first in range(thread, size, 4 * threads):
#     four = philox(counter, subsequence=thread)
#     for word in range(4):
#         place = first + word * threads
#         if place < size:
#             out[place] = four[word]
#     counter += 1
# ```
#
# The four numbers of a counter are not stored in four neighbouring elements. They are
# `threads` elements apart, so that neighbouring threads store to neighbouring places.
#
# Write the mapping in the other direction. For the place `i` of an element, return the
# subsequence, the counter and the word that it came from.
#
# ```python
# torch_place(i, threads, offset)    # -> (subsequence, counter, word)
# ```
#
# With 8 threads and offset 0, element 21 comes from (5, 0, 2). Stuck?
# `hint("torch_place")`.

# %%
def torch_place(i, threads, offset):
    """Return (subsequence, counter, word) of element i of torch.rand."""
    # about 3 lines
    # BEGIN SOLUTION
    rounds, rest = divmod(i, 4 * threads)
    word, thread = divmod(rest, threads)
    return thread, offset // 4 + rounds, word
    # END SOLUTION

# %%
check(
    torch_place,
    spec=checks.by_running,
    inputs=checks.some_places,
    same=checks.same_place,
)

# %% [markdown]
# How many threads does the kernel have? `torch.rand` launches enough blocks of 256
# threads for one element per thread, but no more blocks than the GPU can hold at once:
# `sms × (threads per SM // 256)`. On an H200, these are 132 × 8 blocks, or 270,336
# threads. With this number, your function predicts every number that `torch.rand` makes
# on this GPU.
#
# So **the same seed gives different numbers on a GPU with a different number of SMs**,
# as soon as a tensor has more elements than threads. On a GPU, the next cell compares
# your predictions with two successive calls of `torch.rand`; without a GPU, it compares
# them with the eight numbers above.

# %%
predicted = chapter.measure.predicted

if torch_place(0, 8, 0) is None:
    print("Write torch_place first.")
elif weft.GPU:
    chip = torch.cuda.get_device_properties(0)
    shape = chip.multi_processor_count, chip.max_threads_per_multi_processor
    torch.manual_seed(42)
    for size in (300_000, 1000):
        offset = torch.cuda.default_generators[0].get_offset()
        got = torch.rand(size, device="cuda").cpu().numpy()
        wanted = predicted(torch_place, size, 42, offset, *shape)
        right = np.array_equal(got, wanted)
        print(f"{size:,} numbers from offset {offset}: the same bits, {right}")
        assert right
else:
    right = np.array_equal(of_torch, predicted(torch_place, 8, 42, 0))
    print(f"8 numbers of an H200: the same bits, {right}")

# %% [markdown] tags=["solution"]
# This explains the difference. Element 0 is word 0 of counter 0 of subsequence 0 in
# both libraries. Element 1 is word 1 of the same counter in cuRAND, but word 0 of
# thread 1's subsequence in PyTorch.
#
# The **offset** connects successive calls: each call advances the offset by as many
# numbers as its busiest thread has used, and the next call starts there. If you save
# the seed and the offset, as `torch.cuda.get_rng_state()` does, you can repeat
# everything from that point.

# %% [markdown]
# ## Measure: 268 million numbers
#
# Each of the generators has to store 1 GiB of float32, so none can be faster than
# `fill`, which computes nothing.
#
# - `XORWOW` and `MRG32k3a` are older generators in cuRAND, whose threads keep a state.
#   `XORWOW` is cuRAND's default.
# - `XORWOW, dynamic` is the same generator with an ordering that lets cuRAND choose how
#   many threads share the work.
# - `cuRAND Philox` and `torch.rand` are the two implementations that you have just
#   compared.
# - `compiled` is `torch.rand` under `torch.compile`.
# - `fours` is our Philox: each thread makes four numbers and stores them with one
#   16-byte instruction. In `ones`, each thread makes four numbers and keeps only one.
#
# Predict the speeds of three of them, as multiples of the speed of `torch.rand`.

# %%
guess = {"XORWOW": None, "cuRAND Philox": None, "fours": None}

uniforms = chapter.measure.uniforms(guess)
uniforms

# %% tags=["solution"]
uniforms.expect("fours", at_least=1.2)
uniforms.expect("fours", at_least=0.95, times="cuRAND Philox")
uniforms.expect("fours", at_least=3.0, times="ones")
uniforms.expect("XORWOW, dynamic", at_least=2.0, times="XORWOW")
uniforms.expect("torch.rand", at_least=1.5, times="compiled")

# %% [markdown] tags=["solution"]
# Four numbers take twenty wide multiplications and sixty other operations, and `fours`
# still reaches most of the speed of `fill`. Numbers that are not used take time: `ones`
# makes four numbers and stores one. `torch.compile` generates Triton code in which
# every element has its own counter, so this code probably wastes three numbers of four,
# too.
#
# The ordering matters too. The default ordering promises the same numbers on every GPU,
# so the number of subsequences that share the work is fixed. XORWOW probably has too
# few of them to keep an H200 busy. The dynamic ordering does not make this promise.

# %% [markdown]
# ## 4 · A dropout that keeps two numbers
#
# Chapter 17's kernel recomputed its mask for the backward pass. A program with such a
# kernel has to do two more things. It has to assign the counters, so that no two layers
# share a mask, and to use the counters of each forward pass again in the backward pass.
#
# Here a `Generator` assigns the counters. Its attributes are `seed` and `offset`, which
# is the number of counters used so far. Your layer has to advance it: assign to
# `generator.offset`. (PyTorch's offset counts numbers instead, and each counter makes
# four.) `thinned(x, p, seed, first)` sets a fraction `p` of `x` to 0 and scales the
# other elements. It computes the mask from counters `first`, `first + 1`, ..., one for
# every four elements. If the size is not a multiple of four, it uses only some of the
# last four numbers.
#
# Write the autograd function. PyTorch calls its `forward` to compute the result, and
# later its `backward` with the gradient of this result. What `forward` stores in `ctx`,
# which belongs to this one call, is available in `backward`. `backward` returns one
# value for each of the three arguments of `forward` after `ctx`. `p` and `generator`
# have no gradient, so return `None` for both.
#
# ```python
# Dropout.apply(x, p, generator)
# ```
#
# Do not keep any tensor or array for the backward pass: two numbers and `p` are enough.
# Stuck? `hint("Dropout")`.

# %% tags=["given"]
Generator, thinned = checks.Generator, checks.thinned

# %%
class Dropout(torch.autograd.Function):
    """Dropout whose backward pass makes the mask again."""

    @staticmethod
    def forward(ctx, x, p, generator):
        # about 3 lines
        # BEGIN SOLUTION
        ctx.mask = p, generator.seed, generator.offset
        generator.offset += -(-x.numel() // 4)
        return thinned(x, *ctx.mask)
        # END SOLUTION

    @staticmethod
    def backward(ctx, grad):
        # about 1 line
        # BEGIN SOLUTION
        return thinned(grad, *ctx.mask), None, None
        # END SOLUTION

# %%
check(
    Dropout,
    spec=checks.same_twice,
    inputs=lambda rng, n: (
        rng.normal(0, 1, n).astype(np.float32),
        int(rng.integers(0, 1 << 40)),
        int(rng.integers(0, 1000)),
    ),
    call=checks.two_layers,
    because=checks.other_counters,
    sizes=[30, 5, 8, 63],
)

# %% [markdown] tags=["solution"]
# The layer keeps two numbers instead of a mask (and `p`, which any dropout keeps). It
# reads the offset *before* advancing it, and it stores this offset as a number instead
# of the generator: by the time of the backward pass, the generator will have a
# different offset.
#
# PyTorch's own kernels work in the same way. Before a launch, PyTorch reserves as many
# numbers as the busiest thread will use (`philox_cuda_state(increment)`), and passes
# the seed and the old offset to the kernel. FlashAttention saves only these two numbers
# for its dropout.

# %% [markdown]
# ## 5 · cuFFT plans
#
# You use cuFFT in two steps. First you make a **plan** for one size, layout and type:
# cuFFT chooses algorithms, loads kernels and allocates workspace. Then you execute the
# plan, as often as needed, on any arrays of this layout. At the end you destroy it.
#
# ```python
# plan = cufft.create()
# cufft.make_plan_many(
#     plan, rank, n,                # how many dimensions; their sizes, a list
#     inembed, istride, idist,      # the layout of the input
#     onembed, ostride, odist,      # the layout of the output
#     kind, batch)                  # Type.C2C, R2C or C2R; how many transforms
# cufft.exec_r2c(plan, address of the input, address of the output)
# cufft.destroy(plan)
# ```
#
# In one dimension, element `j` of transform `b` of the input is
#
# `input[b * idist + j * istride]`
#
# and likewise for the output. Strides and distances count elements: floats on the real
# side of a transform, complex numbers on the other side. `inembed` is a list with the
# sizes of the larger array to which the input belongs. In one dimension cuFFT does not
# use these sizes, so `[n]` is enough, but you must pass a list: **with None for both
# `inembed` and `onembed`, cuFFT ignores all strides and distances**.
#
# A recording `x` has `n` samples of several channels. The channels are interleaved, as
# in a sound file: all channels of the first sample, then all channels of the second.
# `x` may contain only some channels of a wider array, so use `x.stride()`. Write the
# spectrum of channel `c` into row `c` of `out`, whose rows have no gaps. Only
# `n // 2 + 1` complex results of each transform are stored, since the others are their
# conjugates.
#
# ```python
# spectra(x, out)    # (n, channels) float32 -> (channels, n // 2 + 1) complex64
# ```
#
# Use one plan, one execution and no copy. `x.stride()` and `x.data_ptr()` work as in
# PyTorch. In a verdict, `9 × 3 × 2` means 9 samples of 3 channels, in an array with 2
# more channels. Stuck? `hint("spectra")`.

# %%
def spectra(x, out):
    """Write the spectrum of each column of x into a row of out."""
    # about 6 lines
    # BEGIN SOLUTION
    n, channels = x.shape
    layout = [n], x.stride(0), x.stride(1), [n // 2 + 1], 1, n // 2 + 1
    transform = cufft.create()
    cufft.make_plan_many(transform, 1, [n], *layout, Type.R2C, channels)
    cufft.exec_r2c(transform, x.data_ptr(), out.data_ptr())
    cufft.destroy(transform)
    # END SOLUTION

# %%
check(
    spectra,
    library="cufft",
    spec=checks.by_numpy,
    inputs=checks.recording,
    given=lambda on, x, out: (x, out),
    result="out",
    sizes=[(8, 2, 0), (9, 3, 2), (12, 1, 3), (10, 4, 1)],
    limits={"calls": 1},
    because=checks.how_wide,
    full=(4096, 6, 2),
)

# %% [markdown] tags=["solution"]
# Neighbouring samples of a channel are `x.stride(0)` apart, and neighbouring channels
# are `x.stride(1)` apart. In the output, the results of a channel are next to each
# other, and the rows are `n // 2 + 1` apart. This single plan therefore transforms and
# transposes.
#
# cuFFT receives addresses, not arrays. With wrong strides, it reads and writes outside
# the arrays. The model reports this mistake; a GPU reports it only if an address is not
# mapped at all.

# %% [markdown]
# ## 6 · A filter with cuFFT
#
# The product of two spectra is the spectrum of a convolution. So even a long filter
# takes only a few transforms and a product. Three points need care.
#
# - **The size.** The transform treats a signal as one period of an endless signal. The
#   product of the spectra of two signals of `n` numbers is the spectrum of their
#   *circular* convolution: results beyond the end are added to the beginning. The full
#   convolution of `n` samples with `k` taps has `n + k - 1` results. Pad both the
#   signal and the filter with zeros to at least this size, and nothing wraps around.
# - **A good size.** `good_size(m)` returns the smallest number that is at least `m` and
#   has no prime factor above 7. (The check accepts any size that is large enough; the
#   measurement after it shows how much time a good size saves.)
# - **The factor.** cuFFT does not normalise. A transform followed by its inverse
#   multiplies the signal by the size of the transform.
#
# Write `convolve` for a batch of real signals and one set of taps. The plans in this
# exercise are for rows without gaps: `planned(kind, size, batch)` makes
# such a plan. The other helpers work on arrays on the device:
#
# - `zeros(rows, columns)` makes an array of float32; pass another type by name, as
#   `dtype=...`;
# - `copy_corner(a, b)` copies from `a` to `b` the first rows and columns that both
#   arrays have. So it pads `a` if `b` is larger and contains zeros, and crops `a` if
#   `b` is smaller;
# - `multiply(a, b, factor)` multiplies each row of `a` by `b` and by the number
#   `factor`, in place.
#
# ```python
# convolve(x, w, out)    # (batch, n), (1, k) -> (batch, n + k - 1)  float32
# ```
#
# Do not write to `x` or `w`, and destroy your plans. `exec_c2r` may overwrite its
# *input*. Stuck? `hint("convolve")`.

# %% tags=["given"]
transforms, arrays = chapter.transforms, chapter.arrays
planned, good_size = transforms.planned, transforms.good_size
zeros, multiply = arrays.zeros, arrays.multiply
copy_corner = arrays.copy_corner

# %%
def convolve(x, w, out):
    """Write the full convolution of each row of x with w into out."""
    (batch, n), (_, k) = x.shape, w.shape
    # about 17 lines
    # BEGIN SOLUTION
    size = good_size(n + k - 1)
    there = planned(Type.R2C, size, batch)
    filtering = planned(Type.R2C, size, 1)
    back = planned(Type.C2R, size, batch)

    padded, taps = zeros(batch, size), zeros(1, size)
    spectrum = zeros(batch, size // 2 + 1, dtype=torch.complex64)
    response = zeros(1, size // 2 + 1, dtype=torch.complex64)
    copy_corner(x, padded)
    copy_corner(w, taps)

    cufft.exec_r2c(there, padded.data_ptr(), spectrum.data_ptr())
    cufft.exec_r2c(filtering, taps.data_ptr(), response.data_ptr())
    multiply(spectrum, response, 1 / size)
    cufft.exec_c2r(back, spectrum.data_ptr(), padded.data_ptr())
    copy_corner(padded, out)

    for each in (there, filtering, back):
        cufft.destroy(each)
    # END SOLUTION

# %%
check(
    convolve,
    library="cufft",
    spec=checks.by_definition,
    inputs=checks.signals,
    given=lambda on, x, w, out: (x, w, out),
    result="out",
    sizes=[(1, 8, 3), (3, 10, 4), (2, 7, 9), (2, 12, 1)],
    tolerance=1e-4,
    because=checks.wraps_around,
    full=(8, 4000, 301),
)

# %% [markdown] tags=["solution"]
# A program that filters many batches would keep the plans, the padded array and the
# filter's spectrum. Each batch would then take only two transforms, a product and two
# copies.

# %% [markdown]
# ## More measurements
#
# The rest of the lab has a test that finds almost nothing, the errors that cuFFT
# reports, and four more measurements. Their code is in `measure.py` and the kernels are
# in `kernels.py`, both in `chapters/26_curand_cufft`.
#
# The solution and the chapter's page explain what each table shows. The last section
# has ideas for more.

# %% [markdown]
# ### What statistics do not see
#
# You might think that it is enough to test whether the numbers are random.
#
# The usual test counts how many of `n` numbers fall in each of 256 bins and adds up
# `(count - n / 256)² / (n / 256)` over all bins. This sum is the **chi-square**
# statistic. For good random numbers it is about 255, and in one case in a thousand it
# exceeds 330. The next cell computes it for six generators. Each makes the same 65,536
# numbers in every run, from fixed counters, so chance plays no part. Five of the six
# generators are wrong. Before you run the cell, predict which of these five the
# statistic will find.

# %%
chapter.measure.statistics()

# %% [markdown] tags=["solution"]
# The statistic finds only the generator with three rounds. The other four look random,
# and some of them *are* nearly as good as Philox. They are not Philox, though, so they
# cannot reproduce a run on another system, and nobody has tested them thoroughly. A
# statistic can show that a generator is bad, but only known answers show that it is the
# generator you meant to write.

# %% [markdown]
# ### Dropout there and back
#
# The table compares three dropouts of a tensor of 1 GiB, forward and backward. `eager`
# writes a mask of one byte per element and reads it again. `compiled` is the code that
# `torch.compile` generates. `ours` is an autograd function like yours, with a kernel
# that uses Philox as in `fours`.
#
# Before you run the cell, count the bytes per element. How many bytes do `eager` and
# `ours` read and write, forward and backward? By what factor could `ours` be faster?

# %%
guess = {"ours": None, "compiled": None}

dropouts = chapter.measure.dropouts(guess)
dropouts

# %% tags=["solution"]
dropouts.expect("ours", at_least=1.1)
dropouts.expect("ours", at_least=1.2, times="compiled")

# %% [markdown] tags=["solution"]
# `eager` moves 4 + 4 + 1 bytes per element forward and the same number backward, 18 in
# all. `ours` moves 16, so the bytes explain a factor of 18 / 16 = 1.13. The rest of the
# difference is probably due to PyTorch's forward kernel, which is further from the
# speed of a copy. Our layer also keeps a fifth less memory, including its result: 4
# bytes per element instead of 5. With bfloat16 it would keep a third less.

# %% [markdown]
# ### What cuFFT reports about bad input
#
# cuFFT itself detects a few mistakes. Every function returns a status, and the binding
# raises an exception for any status except success.

# %%
array = on_device(torch.zeros(8, dtype=torch.complex64))


def tried(what, call):
    """Call something, and print the exception."""
    try:
        call()
    except cufft.cuFFTError as error:
        print(f"{what:20}{error}")


plan = cufft.create()
tried("size 0", lambda: cufft.make_plan1d(plan, 0, Type.C2C, 1))
tried("an unknown type", lambda: cufft.make_plan1d(plan, 8, 99, 1))
cufft.destroy(plan)
address = array.data_ptr()
tried("a destroyed plan", lambda: cufft.exec_c2c(plan, address, address, -1))

# %% [markdown]
# ### How long a plan takes
#
# This table uses the host's clock, because the host makes the plans.
#
# - `execute` runs an existing plan for 1000 complex numbers;
# - `make, execute, destroy` makes, runs and destroys a plan each time, for a size that
#   has been planned before;
# - `torch.fft, same size` looks the plan up: PyTorch keeps plans in a cache;
# - `torch.fft, new size` uses a different size in every call, each new to this process.
#
# How many executions of a plan take as long as one transform of a new size?

# %%
guess = {
    "make, execute, destroy": None,
    "torch.fft, same size": None,
    "torch.fft, new size": None,
}

plans = chapter.measure.plans(guess)
plans

# %% tags=["solution"]
plans.expect("execute", at_least=5, times="make, execute, destroy")
plans.expect("torch.fft, same size", at_least=20, times="torch.fft, new size")

# %% [markdown] tags=["solution"]
# Making a plan takes longer than a dozen executions, and the first plan of a size takes
# far longer still, probably because cuFFT then builds or loads kernels for this size.
# So make each plan once. PyTorch does this for you, as long as your sizes repeat. If
# you filter signals that all have different lengths, pad them to one of a few sizes.

# %% [markdown]
# ### Batches, sizes and layouts
#
# The cells below make four tables:
#
# 1. 4096 transforms of 1024 numbers: one plan with a batch, or a loop over the rows.
# 2. About 16 million numbers, in rows of several lengths near 4096. 4096 is 2¹², 4116
#    is 2² · 3 · 7³, 4095 is 3² · 5 · 7 · 13, and 4093 and 4099 are primes.
# 3. A matrix of 8192 × 8192: the transforms of all rows or of all columns.
# 4. Rows of 4096 numbers: complex to complex, real to complex, and complex to real.

# %%
batched = chapter.measure.batched()
batched

# %%
guess = {"4116": None, "4093": None}

sizes = chapter.measure.sizes(guess)
sizes

# %%
guess = {"columns": None, "columns to rows": None}

strides = chapter.measure.strides(guess)
strides

# %%
real = chapter.measure.real_transforms()
real

# %% tags=["solution"]
batched.expect("one batch", at_least=100)
sizes.expect("4096", at_least=0.98, times="4116")
sizes.expect("4116", at_least=1.2, times="4095")
sizes.expect("4096", at_least=3, times="4093")
sizes.expect("4096", at_least=8, times="4099")
strides.expect("rows", at_least=3, times="columns")
strides.expect("columns to rows", at_least=1.4, times="columns")
real.expect("real to complex", at_least=1.6)
real.expect("complex to real", at_least=1.6)

# %% [markdown] tags=["solution"]
# 1. A launch takes microseconds, whereas a row takes nanoseconds, so use a batch.
# 2. Sizes with no prime factors except 2, 3, 5 and 7 are fast. A transform of a large
#    prime size takes a detour: either a convolution of a larger, fast size, or a
#    special kernel.
# 3. Columns are read and written with large strides. If the results are written as
#    rows, only the reads are strided.
# 4. A real transform reads and writes half the bytes of a complex transform.

# %% [markdown]
# ### A filter of 1023 taps
#
# The data are 64 signals of 65,536 samples. The full results have 66,558 = 2 · 3 ·
# 11,093 samples, which is a slow size.
#
# - `as it comes` uses transforms of 66,558 numbers;
# - `good size` pads to 67,200 = 2⁷ · 3 · 5² · 7;
# - `power of two` pads to 131,072;
# - `complex` uses the good size with complex transforms;
# - `conv1d` is PyTorch's direct convolution, which calls cuDNN.

# %%
guess = {"good size": None, "power of two": None, "conv1d": None}

filtered = chapter.measure.filtered(guess)
filtered

# %% tags=["solution"]
filtered.expect("good size", at_least=2)
filtered.expect("good size", at_least=1.1, times="power of two")
filtered.expect("good size", at_least=1.2, times="complex")
filtered.expect("good size", at_least=4, times="conv1d")

# %% [markdown] tags=["solution"]
# With transforms that are one per cent longer, the filter is nearly three times as
# fast. A power of two is also a fast size, but the next one makes the transforms twice
# as long.

# %% [markdown]
# ### If you want more
#
# - Write Box and Muller's formula as a kernel: it converts two uniform numbers into two
#   normally distributed numbers. Which end of [0, 1] must the argument of the logarithm
#   avoid, and how large can a result be?
# - Filter a signal that is too long for one transform: cut it into pieces that overlap
#   by `k - 1` samples, filter them as a batch, and keep the results that did not wrap
#   around (*overlap-save*). Which layout does the batch have, and do you have to copy
#   the pieces first?
# - Let `spectra` keep its plans in a dictionary. What has to be part of the key, and
#   when are the plans destroyed?
# - Write `torch_place` for `torch.nn.functional.dropout`, which stores four neighbours
#   at a time if it can. If you have a GPU, find the mapping by comparing masks.

# %% [markdown]
# ## What you learned
#
# 1. Philox is a function of a counter and a key. Known answers can show that an
#    implementation is right; statistics cannot.
# 2. A float32 has 24 significant bits, so rounding a random 32-bit word times 2^-32 can
#    give exactly 1.
# 3. A library's random numbers are determined by a generator, a seed, an offset and an
#    *ordering*. The ordering defines which counter makes which element.
# 4. A random mask can be recomputed from a seed and an offset, if each call advances
#    the offset by what it has used.
# 5. Making a plan is slow, but executing it is fast. cuFFT does not check the layout of
#    a plan against your arrays, does not normalise, and is fast for sizes with no prime
#    factors except 2, 3, 5 and 7.

# %%
quiz()
