# %% [markdown]
# # 09 · Atomics
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/09_atomics.ipynb)
#
# **After this lab, you can**
#
# - spot where an update can get lost, and prevent that with an atomic operation;
# - count values into bins in global memory, in shared memory and in private copies, and
#   predict which of these three the data will slow down;
# - use compare-and-swap to build an atomic operation that the hardware lacks;
# - explain why a spin lock can hang a warp;
# - say which results computed with atomics repeat bit for bit, and which do not.
#
# **You need** about 90 minutes. You do not need a GPU: the exercises run in the
# simulator, and without a GPU the measurements show times from the reference GPU, an
# H200. If you use a GPU, it needs compute capability 7.5 or higher and 3 GB of memory.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import math

import numpy as np
from numba import cuda, float32, int32
from numba.cuda import libdevice

from weft import bench, check, hint, quiz

chapter = weft.lab("09_atomics")

# %% [markdown]
# ## 1 · The update that got lost
#
# An image is a long array of bytes, one for each pixel. How many pixels have a certain
# value, `wanted`? Each thread looks at one pixel, once, and adds 1 to a common counter
# if the pixel matches.
#
# First write the obvious line, `out[0] += 1`, inside a guard. Run the check and read
# what it says. Only then fix the kernel.
#
# The fix is an **atomic operation**. `cuda.atomic.add(array, index, value)` does what
# `array[index] += value` does, but it reads, changes and writes the element in one
# step, and no other thread can get in between. The call returns the *old* value, which
# you do not need here. Stuck? Run `hint("count_matches")`; there are three hints.
#
# ```python
# count_matches(x, wanted, out)    # uint8 (n,), uint8 -> int32 (1,), starts at 0
# ```

# %%
@cuda.jit
def count_matches(x, wanted, out):
    """Count the elements of x that equal wanted, into out[0]."""
    i = cuda.grid(1)

    # about 2 lines
    # BEGIN SOLUTION
    if i < x.size and x[i] == wanted:
        cuda.atomic.add(out, 0, 1)
    # END SOLUTION


# %%
check(
    count_matches,
    spec=lambda x, wanted: np.array([np.sum(x == wanted)]),
    inputs=lambda rng, n: (
        rng.integers(5, 9, n, np.uint8),
        np.uint8(5 + n % 4),
    ),
    out=lambda x, wanted: np.zeros(1, np.int32),
    sizes=[64, 1, 1000],
    launch=lambda n: (-(-n // 128), 128),
    full=1 << 24,
    limits={"loads": 1},
)

# %% [markdown] tags=["solution"]
# `out[0] += 1` looks like one step but is three: a load, an addition and a store. If
# two threads both load 41, both store 42, and one count is lost. The simulator runs
# threads one after another, so the plain line gives the right *result* there. The check
# objects because nothing guarantees that result: two threads read, change and write the
# same element, and nothing orders them.

# %% [markdown]
# ## Measure: how many updates are lost?
#
# The next cell runs the same kernel with the plain line. Of 2^26 random bytes, about
# 262,144 are equal to 7. How many of these does the plain kernel count on a GPU: nearly
# all, half, or a few? Guess, then run. (Without a GPU, you see the simulator's count,
# for fewer bytes, and below it what the reference GPU counts.)

# %%
chapter.measure.lost_updates()

# %% tags=["solution"]
out = cuda.to_device(np.zeros(1, np.int32))
count_matches[chapter.measure.blocks, 256](
    chapter.measure.d_pixels, 7, out
)
assert out.copy_to_host()[0] == chapter.measure.right

if weft.GPU:
    bench.sometimes(
        "over 99 in 100 updates are lost", chapter.measure.nearly_all_lost
    )

# %% [markdown] tags=["solution"]
# On the reference GPU the counter ends below 100: of 10,000 updates, fewer than four
# survive, and the number differs from run to run. Lost updates are not a rare accident
# here. Thousands of threads are in flight at any moment, a load takes hundreds of
# nanoseconds, and all threads that load the counter during that time get the same
# value.
#
# In the simulator no update is lost. That is why "it gave the right answer" proves
# nothing about a race, and why the check looks at the order of the accesses instead.

# %% [markdown]
# ## 2 · A histogram
#
# Now count all values at once. The **histogram** of an image gives, for each of the 256
# possible values, the number of pixels that have it. It consists of 256 counters,
# called **bins**, and a pixel's value is the index of its bin. Use one thread per
# pixel; the check counts the loads. You will improve this kernel in the next three
# exercises. Stuck? `hint("histogram_global")`.
#
# ```python
# histogram_global(x, out)    # uint8 (n,) -> int32 (256,), starts at 0
# ```

# %%
@cuda.jit
def histogram_global(x, out):
    """Count the values of x, each into its bin of out."""
    # about 3 lines
    # BEGIN SOLUTION
    i = cuda.grid(1)

    if i < x.size:
        cuda.atomic.add(out, x[i], 1)
    # END SOLUTION


# %%
check(
    histogram_global,
    spec=lambda x: np.bincount(x, minlength=256),
    inputs=lambda rng, n: (rng.integers(0, 256, n, np.uint8),),
    out=lambda x: np.zeros(256, np.int32),
    sizes=[256, 1, 1000],
    launch=lambda n: (-(-n // 128), 128),
    full=1 << 24,
    limits={"loads": 2},
)

# %% [markdown] tags=["solution"]
# Two threads whose pixels differ update different bins and never meet. If their pixels
# are equal, the atomic makes one thread wait for the other. That is all it takes to get
# the right answer. The speed, however, depends on how often threads meet at a bin,
# which is called **contention**.

# %% [markdown]
# ## 3 · A histogram for each block
#
# The remedy is called **privatisation**: give each block its own 256 bins, count
# into those, and add their counts to the common bins at the end. The common bins are
# then updated 256 times per block, rather than once per pixel.
#
# The private bins are in **shared memory**, a small fast memory that each block has to
# itself (chapter 13 is all about it). `cuda.shared.array(shape, dtype)` creates an
# array there, one for the whole block, which starts out full of garbage.
# `cuda.syncthreads()` is a **barrier**: no thread of the block passes it before all of
# them have reached it.
#
# 1. The threads of the block set the bins to 0, together.
# 2. They all wait at a barrier.
# 3. They count the pixels. There are few blocks with many pixels each, so use a
#    grid-stride loop.
# 4. They all wait at another barrier.
# 5. They add the bins to `out`, together.
#
# A block may have fewer threads than there are bins, or more. The loop
# `for b in range(t, BINS, cuda.blockDim.x)` distributes the bins in either case. The
# check tries several launches and counts the atomic operations on global memory: a
# block needs 256 of them, however many pixels it has. It also counts each thread's
# loads from shared memory (with 128 threads, each loads 2 bins in step 5) and from
# global memory (each pixel is loaded once). Stuck? `hint("histogram_shared")`.
#
# ```python
# histogram_shared(x, out)    # uint8 (n,) -> int32 (256,), starts at 0; any launch
# ```

# %% tags=["given"]
BINS = 256

# %%
@cuda.jit
def histogram_shared(x, out):
    """Count the values of x in shared memory, then add the counts to out."""
    counts = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x

    # about 8 lines
    # BEGIN SOLUTION
    for b in range(t, BINS, cuda.blockDim.x):
        counts[b] = 0
    cuda.syncthreads()

    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(counts, x[i], 1)
    cuda.syncthreads()

    for b in range(t, BINS, cuda.blockDim.x):
        cuda.atomic.add(out, b, counts[b])
    # END SOLUTION


# %%
check(
    histogram_shared,
    spec=lambda x: np.bincount(x, minlength=256),
    inputs=lambda rng, n: (rng.integers(0, 256, n, np.uint8),),
    out=lambda x: np.zeros(256, np.int32),
    sizes=[256, 1, 1000],
    launch=lambda n: {256: (2, 96), 1: (1, 320)}.get(n, (3, 128)),
    full=1 << 24,
    limits={"atomics": 3 * BINS, "shared_loads": 6, "loads": 6},
)

# %% [markdown] tags=["solution"]
# The first barrier keeps a fast warp from counting into a bin that a slow warp is about
# to set to 0. The second keeps a fast warp from adding a bin to `out` while a slow warp
# is still counting into it. The last loop needs atomics too, because other blocks add
# to the same `out`.

# %% [markdown]
# ## 4 · Four pixels at a time
#
# For each byte, `histogram_shared` runs one iteration of a loop: an index, a test, a
# load and an atomic. But a load that fetches four pixels costs no more than a load that
# fetches one.
#
# The same bytes can be viewed as 32-bit words, `pixels.view(np.uint32)`, with four
# pixels in each. Pixel `k` of word `w` is `(w >> (8 * k)) & 255`. Count four pixels per
# iteration, and leave everything else as it was in exercise 3. The check requires loads
# of four bytes. Stuck? `hint("histogram_words")`.
#
# ```python
# histogram_words(words, out)    # uint32 (n / 4,) -> int32 (256,), starts at 0
# ```

# %%
@cuda.jit
def histogram_words(words, out):
    """Count the bytes of the words, four in each, into out."""
    counts = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x

    # about 10 lines, most of them from exercise 3
    # BEGIN SOLUTION
    for b in range(t, BINS, cuda.blockDim.x):
        counts[b] = 0
    cuda.syncthreads()

    for i in range(cuda.grid(1), words.size, cuda.gridsize(1)):
        word = words[i]
        for k in range(4):
            cuda.atomic.add(counts, (word >> (8 * k)) & 255, 1)
    cuda.syncthreads()

    for b in range(t, BINS, cuda.blockDim.x):
        cuda.atomic.add(out, b, counts[b])
    # END SOLUTION


# %%
check(
    histogram_words,
    spec=lambda words: np.bincount(words.view(np.uint8), minlength=256),
    inputs=lambda rng, n: (rng.integers(0, 1 << 32, n, np.uint32),),
    out=lambda words: np.zeros(256, np.int32),
    sizes=[192, 1, 300],
    launch=lambda n: (2, 96),
    full=1 << 22,
    limits={"atomics": 2 * BINS, "load_bytes": 4, "loads": 10},
)

# %% [markdown] tags=["solution"]
# The order of the four pixels does not matter to a histogram, so neither does the order
# in which the machine stores the bytes of a word. `words[i]` is loaded once, into a
# register. The compiler unrolls the inner loop, because it knows its length.

# %% [markdown]
# ## Measure: all versions
#
# Here are all the versions, on random pixels. The image has 2^26 bytes, which an H200
# can read in 16 µs. How close does `histogram_words` come to that, and how many times
# as fast as `torch.bincount`, PyTorch's histogram, is it?

# %%
guess = {"words": None}

ladder = chapter.measure.ladder(
    histogram_global, histogram_shared, histogram_words, guess
)
ladder

# %% tags=["solution"]
ladder.expect("words", at_least=8)
ladder.expect("words", at_least=1.2, times="shared")
ladder.expect("words", at_least=100, times="global")

# %% [markdown] tags=["solution"]
# `torch.amax` is there for comparison: it reads the same bytes once and does next to
# nothing with them. A histogram can hardly be faster than that.
#
# Still, `histogram_words` is not limited by memory. Each SM sends 15,900 requests to
# its shared memory. If you divide the time by that number, you get about five clock
# cycles per request, so the limit is now probably the atomics.
#
# Now take the same pixels in other types. PyTorch's index type is `int64`, and many
# programs store pixels as `int32`. In these types there is nothing to unpack, but there
# are four or eight times as many bytes to read.

# %% tags=["solution"]
wide = chapter.measure.wide(histogram_shared)
wide["int32"].expect("shared", at_least=5)
wide["int64"].expect("shared", at_least=4)
wide["int32"]

# %% tags=["solution"]
wide["int64"]

# %% [markdown]
# ## 5 · A copy for each lane
#
# In a **weighted** histogram a pixel adds its own weight instead of 1: `out[x[i]] +=
# weights[i]`. (Examples are the light of all the stars of a class, the loss over all
# the occurrences of a word, and the gradient over all the uses of an embedding.) The
# weights are float32, and there is no fast instruction for adding floats in shared
# memory. The machine code is a loop: read the bin, add, and write the sum back if no
# other thread has changed the bin meanwhile; otherwise try again. Lanes with the same
# bin take turns.
#
# So privatise once more: keep 32 copies of the bins, one for each lane, `counts[bin,
# lane]`. Then no two lanes of a warp ever need the same element, and the copies also
# avoid bank conflicts. Shared memory has 32 **banks**: word `w` is in bank `w % 32`,
# and a bank serves one word at a time. `counts[bin, lane]` is word `32 * bin + lane`,
# which is in bank `lane`, whatever the bin. The lanes of a warp always access 32
# different banks.
#
# If two lanes need different words in the same bank, that is a **bank conflict**. The
# check allows none, not even while you clear the copies and add them up. It also counts
# atomics on global memory, as in exercise 3, and rejects float64. To avoid conflicts:
#
# - when you clear, let a warp take one row at a time, and each lane its own copy. A
#   warp begins at row `t // COPIES` and goes on in steps of `cuda.blockDim.x //
#   COPIES`;
# - when you add up, let thread `t` handle bin `t`, as before. But `counts[t, k]` is in
#   bank `k` for *all* lanes. So let each lane begin at a different copy, and take the
#   copies in the order `(k + t) % COPIES`.
#
# ```python
# histogram_weighted(x, weights, out)    # uint8 (n,), float32 (n,) -> float32 (256,)
# ```
#
# Stuck? `hint("histogram_weighted")`.

# %% tags=["given"]
COPIES = 32

# %%
@cuda.jit
def histogram_weighted(x, weights, out):
    """Add each weight to the bin of its x, in the lane's own copy."""
    counts = cuda.shared.array((BINS, COPIES), float32)
    t = cuda.threadIdx.x
    lane = t % COPIES

    # about 11 lines
    # BEGIN SOLUTION
    for b in range(t // COPIES, BINS, cuda.blockDim.x // COPIES):
        counts[b, lane] = float32(0)
    cuda.syncthreads()

    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(counts, (x[i], lane), weights[i])
    cuda.syncthreads()

    for b in range(t, BINS, cuda.blockDim.x):
        total = float32(0)
        for k in range(COPIES):
            total += counts[b, (k + t) % COPIES]
        cuda.atomic.add(out, b, total)
    # END SOLUTION


# %%
check(
    histogram_weighted,
    spec=lambda x, weights: np.bincount(x, weights, minlength=256),
    inputs=lambda rng, n: (
        rng.integers(0, 256, n, np.uint8),
        rng.random(n, np.float32),
    ),
    out=lambda x, weights: np.zeros(256, np.float32),
    sizes=[1, 700],
    launch=lambda n: (2, 128),
    full=1 << 22,
    limits={"bank_conflicts": 0, "atomics": 2 * BINS, "float64": 0}
    | {"loads": 12},
)

# %% [markdown] tags=["solution"]
# The additions to `counts` still have to be atomic. A block has several warps, and lane
# 5 of one warp shares its copy with lane 5 of all the others.
#
# The copies take 256 × 32 × 4 bytes = 32 KB. Arrays declared like this can take up to
# 48 KB in a block.

# %% [markdown]
# ## Look at the banks
#
# Two warps of your kernel count 64 pixels of a dark image. The picture shows in which
# banks the words of a request are. Look at the line that adds up the copies. Then write
# `counts[b, k]` there, run both cells, and look again: where are the 32 words now?

# %%
dark = np.zeros(64, np.uint8)
weights, bins = np.ones(64, np.float32), np.zeros(256, np.float32)
weft.explore(histogram_weighted)[1, 64](dark, weights, bins)

# %% [markdown]
# ## 6 · An operation that the hardware lacks
#
# Find the largest of many floats. (When a tensor is to be stored in 8 bits, for
# example, its largest value sets the scale.) The hardware has an atomic maximum for
# integers, but none for float32. (Numba's `cuda.atomic.max` accepts floats all the
# same. But it contains the kind of loop that you are about to write, so the check
# rejects it.) The hardware does have one operation from which every other can be made,
# **compare-and-swap**:
#
# ```python
# old = cuda.atomic.cas(array, index, guess, new)
# ```
#
# If the element equals `guess`, it becomes `new`; if not, nothing happens. Either way,
# the call returns what was there before. So guess what is there, compute what should
# replace it, and try to swap. If `old == guess`, the swap has worked. If not, another
# thread was faster, and `old` is your next guess.
#
# Two things to know before you start:
#
# - `cas` compares integers, bit for bit. `out.view(int32)` shows the bits of `out` as
#   an integer; `to_bits` and `to_float` turn a float into its bits and back.
# - The cheapest atomic is the one you do not execute. Each thread first finds the
#   largest of *its* elements in a register, which is as private as memory can be. That
#   part is written for you. If `out` already contains a larger number, the thread need
#   not swap at all.
#
# ```python
# atomic_max_float(x, out)    # float32 (n,) -> (1,), starts at minus infinity
# ```
#
# The first guess may be a plain read, `bits[0]`: if that value is stale, `cas` returns
# the current one. Stuck? `hint("atomic_max_float")`.

# %% tags=["given"]
LOWEST = np.float32(-np.inf)
to_bits, to_float = chapter.kernels.conversions()

# %%
@cuda.jit
def atomic_max_float(x, out):
    """Raise out[0] to the largest element of x."""
    bits = out.view(int32)
    top = LOWEST
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        top = max(top, x[i])

    # about 6 lines
    # BEGIN SOLUTION
    guess = bits[0]
    while to_float(guess) < top:
        old = cuda.atomic.cas(bits, 0, guess, to_bits(top))
        if old == guess:
            break
        guess = old
    # END SOLUTION


# %%
check(
    atomic_max_float,
    spec=lambda x: x.max(keepdims=True),
    inputs=lambda rng, n: (  # on scales from 1 to 1e33
        (rng.normal(-3, 2, n) * 10.0 ** (n % 12 * 3)).astype(np.float32),
    ),
    out=lambda x: np.full(1, LOWEST),
    sizes=[64, 1, 1000],
    launch=lambda n: (2, 96),
    full=1 << 24,
    limits={"loads": 24},
    without=("cuda.atomic.max float32", "cuda.atomic.nanmax float32"),
)

# %% [markdown] tags=["solution"]
# There are two ways out of the loop: the value in `out` is large enough, or the swap
# has worked. Whenever the swap of one thread fails, that of some *other* thread has
# succeeded, so there is always progress. Code with this property is called
# **lock-free**.
#
# The comparison `old == guess` compares integers, on purpose. With floats it would
# never be true for a NaN, and the thread would loop for ever.

# %% [markdown]
# ## More measurements
#
# You have done the exercises. The rest of the lab is for the curious: four
# measurements, each with a prediction, and two experiments. Their code is in
# `measure.py` and their kernels in `kernels.py`, both in `chapters/09_atomics`.
#
# The solution and the chapter's page explain what each table shows. The last section
# has ideas for more.

# %% [markdown]
# ### How often they meet
#
# Atomics on global memory are executed in the L2 cache, which all SMs share. Here are
# 2^24 increments, spread at random over 1 counter, over 8, over 256, and so on. With
# one counter, all the increments queue for one address. How many times as fast are they
# with 256 counters, and with a million (2^20)? Guess, then run.

# %%
guess = {"256": None, "2^20": None}

spread = chapter.measure.spread(histogram_global, guess)
spread

# %% tags=["solution"]
spread.expect("256", at_least=1.5)
spread.expect("2^20", at_least=25)
spread.expect("2^20", at_least=1.5, times="2^24")

# %% [markdown] tags=["solution"]
# Divide 2^24 by the time in the first row: a single counter accepts a little over one
# increment per nanosecond, however many SMs are waiting. 256 counters help less than
# you might hope. They fill only a kilobyte, or 32 sectors, so they are all in a few
# parts of the L2 cache. (Eight counters do even better, probably because they are in
# one sector, so a warp's 32 increments can travel as one request. Spread over 32
# sectors, the increments need about twenty requests.) A million counters are spread
# over the whole cache, and 2^24 counters no longer fit in it.
#
# So a histogram of 256 bins is close to the worst case for global atomics: nearly every
# increment has to queue.

# %% [markdown]
# ### Shared against global
#
# Calculate first. The image has 2^26 bytes, or 67 MB, which the reference GPU can read
# in 16 µs. Each SM counts 2^26 / 132 = 508,000 pixels, in 15,900 requests of 32 lanes.
#
# `torch.bincount` is PyTorch's histogram. It does a little more than yours: it first
# searches for the largest value (and for the smallest, unless the values are bytes),
# and its counters have 64 bits. How fast are your two kernels compared with it (1.0 is
# PyTorch's speed)? Then guess again for **a dark image**, in which more than nine
# pixels in ten are 0, and for an image that is all black. How does the speed of PyTorch
# and of each of your kernels change?

# %%
guess = {"global": None, "shared": None}
guess_dark = {"global": None, "shared": None}

tables = chapter.measure.by_image(
    histogram_global, histogram_shared, guess, guess_dark
)
tables["random pixels"]

# %%
tables["a dark image"]

# %%
tables["all black"]

# %% tags=["solution"]
even, dark = tables["random pixels"], tables["a dark image"]
even.expect("shared", at_least=100, times="global")
even.expect("shared", at_least=3)
dark.expect("shared", at_least=50)
even.expect("global", at_least=1.5, times="global", of=dark)
dark.expect("shared", at_least=1 / 1.2, times="shared", of=even)
even.expect("torch.bincount", at_least=5, times="torch.bincount", of=dark)

# %% [markdown] tags=["solution"]
# Private bins make the kernel over a hundred times as fast. Now compare the tables. The
# dark image slows the global kernel, as you could expect from the measurement above. It
# slows `torch.bincount` more than tenfold, and `histogram_shared` not at all.
#
# PyTorch's kernel and `histogram_shared` both count in shared memory. They differ in
# their counters. On the reference GPU, adding **1** to an `int32` in shared memory is a
# single machine instruction (`ATOMS.POPC.INC`). Judging by its name, it counts lanes,
# and the tables show that the number of lanes with the same bin makes no difference.
# PyTorch's counters have 64 bits, and for those the machine code is a loop around
# compare-and-swap, in which 32 lanes with the same bin take turns. You wrote such a
# loop in exercise 6.

# %% [markdown]
# ### What the copies are worth
#
# `torch.bincount` takes weights too. It keeps one copy of the bins per block, as you
# did in exercise 3. How many times as fast is your kernel with its 32 copies on random
# pixels, and on the dark image? The third row is `histogram_shared` on the same pixels,
# without the weights. That kernel has one copy, but always adds 1. Which of the three
# times depend on the image?

# %%
guess = {"weighted, 32 copies": None}
guess_dark = {"weighted, 32 copies": None}

weighted = chapter.measure.weighted(
    histogram_weighted, histogram_shared, guess, guess_dark
)
weighted["random pixels"]

# %%
weighted["a dark image"]

# %% tags=["solution"]
even, dark = weighted["random pixels"], weighted["a dark image"]
dark.expect("weighted, 32 copies", at_least=3)
row = "weighted, 32 copies"
dark.expect(row, at_least=1 / 1.5, times=row, of=even)
even.expect("torch.bincount", at_least=3, times="torch.bincount", of=dark)

# %% [markdown] tags=["solution"]
# The copies make the time nearly independent of the image. But are they the only reason
# why your kernel is faster than PyTorch's? `torch.bincount` differs from your kernel in
# other details, too. So measure once more with everything else equal: compare your
# kernel with a weighted histogram that has a single copy per block. The last two rows
# are the *unweighted* histogram, with one copy and with 32. What do the copies gain
# there?

# %% tags=["solution"]
guess = {"weighted, 32 copies": 1}
guess_dark = {"weighted, 32 copies": 1}

copies = chapter.measure.copies(
    histogram_weighted, histogram_shared, guess, guess_dark
)
copies["random pixels"]

# %% tags=["solution"]
copies["a dark image"]

# %% tags=["solution"]
even, dark = copies["random pixels"], copies["a dark image"]
dark.expect("weighted, 32 copies", at_least=3)
dark.expect("weighted, 32 copies", at_least=3, times="torch.bincount")
dark.expect("counted, 1 copy", at_least=0.9, times="counted, 32 copies")

# %% [markdown] tags=["solution"]
# With weights, the copies gain a little on random pixels and an enormous amount on the
# dark image, which now takes less than a fifth longer than random pixels. Without
# weights they cost something and gain nothing: the instruction that counts lanes has
# already done the work. All that is left is the price of the copies: there are 32 times
# as many elements to clear and to add up.
#
# Privatisation helps only against contention. So first measure whether there is any.

# %% [markdown]
# ### Atomics you do not execute
#
# Find the largest of 2^24 floats, with your kernel launched in two ways: with one
# thread per element, and with few threads that each first find the largest of about 60
# elements. For comparison, the table also has Numba's own `atomic.max`, called once per
# element. First the floats are random; then they are ascending, so each is larger than
# all those before it. How many times as fast is the launch with few threads, in each
# case? Guess, then run.

# %%
guess = {"few threads": None}
guess_ascending = {"few threads": None}

swaps = chapter.measure.swaps(atomic_max_float, guess, guess_ascending)
swaps["random"]

# %%
swaps["ascending"]

# %% tags=["solution"]
swaps["random"].expect("few threads", at_least=2)
swaps["ascending"].expect("few threads", at_least=10)

# %% [markdown] tags=["solution"]
# In random data most threads read a maximum that is larger than their own element, and
# never swap. In ascending data most threads read a smaller maximum, and queue for one
# address. (Not all of them do: threads run in no particular order, and one that runs
# after the thread with a larger element need not swap either.) With few threads the
# queue is short.
#
# How long would 2^24 swaps take if *none* could be avoided? `swap each` executes at
# least one `cas` for every element, because its first guess, minus infinity, is nearly
# always wrong. `yours` is your kernel with few threads.

# %% tags=["solution"]
guess = {"atomic.max": 10, "yours": 100}

maxima = chapter.measure.maxima(atomic_max_float, guess)
maxima

# %% tags=["solution"]
maxima.expect("atomic.max", at_least=8)
maxima.expect("yours", at_least=2, times="atomic.max")

# %% [markdown] tags=["solution"]
# `swap each` takes as long as 2^24 increments of one counter: it *is* 2^24 atomics on
# one address, whether they change anything or not. A read before the swap avoids most
# of them, because in random data a new largest number soon becomes rare. Fewer threads,
# each with its own maximum, are faster on both kinds of data.

# %% [markdown]
# ### The same sum, several times
#
# Atomics guarantee that no update is lost. They do not say in which *order* updates
# happen. For integers the order makes no difference. But addition of floats is not
# **associative**: each addition rounds, so (a + b) + c may differ from a + (b + c). The
# cell below adds a million floats in three orders on the CPU. Then it adds them with
# atomics on the GPU, five times as floats and five times as integers. Which of the sums
# will be equal, bit for bit?

# %%
chapter.measure.same_sum()

# %% tags=["solution"]
values, sums_of = chapter.measure.values, chapter.measure.sums_of
orders = chapter.measure.orders
assert len({float(np.cumsum(v)[-1]) for v in orders}) > 1
if weft.GPU:
    whole = sums_of((values * 1000).astype(np.int32))
    bench.sometimes("sums differ", lambda: len(set(sums_of(values))) > 1)
    bench.always("sums of integers agree", len(set(whole)) == 1)

# %% [markdown] tags=["solution"]
# The float sums differ from run to run, on the same machine with the same data. PyTorch
# lists the operations that do this, `torch.bincount` with weights among them, and
# refuses to run them under `torch.use_deterministic_algorithms(True)`. If you need the
# same bits every time, add integers (fixed-point numbers, for example), or add the
# floats in an order that you fix yourself, as chapter 14 does.

# %% [markdown]
# ### Why not use a lock?
#
# On a CPU you would protect the sum with a lock:
#
# ```python
# while cuda.atomic.cas(lock, 0, 0, 1) != 0:   # spin until I get it
#     pass
# total[0] += x[i]                             # no other thread is here
# cuda.atomic.exch(lock, 0, 0)                 # release it
# ```
#
# On GPUs from before 2017 this could hang. A warp had *one* program counter for its 32
# lanes. One lane got the lock and left the `while`; the other 31 went on spinning.
# Lanes waited for one another at the end of a loop, so the winner waited for the losers
# to leave the loop, and the losers waited for the winner to release the lock. The next
# cell models such a warp in Python, which cannot hang your GPU. Each `lap` is one
# iteration of the `while`, for all lanes that are still in it. With `release_inside`,
# the lane that has the lock does its work and releases the lock before the iteration
# ends. How many iterations do 32 lanes need in that case?

# %%
def lockstep(lanes, release_inside, laps=1000):
    """Return how many iterations all lanes need; None if they never finish."""
    locked, spinning = False, set(range(lanes))
    for lap in range(1, laps + 1):
        for lane in sorted(spinning):  # the atomic serves lane by lane
            if not locked:
                locked, winner = True, lane
        spinning.discard(winner)  # it waits at the end of the loop
        if release_inside:
            locked = False  # the iteration includes the release
        if not spinning:
            return lap
    return None


print("release after the loop: ", lockstep(32, release_inside=False))
print("release inside the loop:", lockstep(32, release_inside=True))
print("a single lane:          ", lockstep(1, release_inside=False))

# %% tags=["solution"]
assert lockstep(32, release_inside=False) is None
assert lockstep(32, release_inside=True) == 32

# %% [markdown] tags=["solution"]
# Since Volta (2017), and so on every GPU that this course runs on, each lane has its
# own program counter, and the hardware lets each make progress. So the lock above
# usually works there. It is still a bad idea: 32 lanes take 32 turns, thousands of
# threads hammer one address while they wait, and a missing fence (`cuda.threadfence()`)
# lets stale values through. Nearly always, an atomic, a private copy or a reduction
# does the job. Do not try a lock on a GPU that others use.

# %% [markdown]
# ### If you want more
#
# - Are the copies the reason for the speed in exercise 5? Write exercise 5 with one
#   copy per block, and exercise 3 with one copy per lane. Compare them with your
#   kernels, on both images. Guess first. (The solution has the tables.)
# - Count sixteen pixels per iteration: view the bytes as float32, load four of these
#   with `weft.intrinsics.load4`, and get their bits with `libdevice.float_as_int`.
#   Predict the time first. Which of the two limits that you calculated, reads or
#   requests to shared memory, does this affect?
# - How many copies are best? Measure the weighted histogram with 1, 2, 4, …, 32 copies
#   on the dark image. The 32 copies take 32 KB of shared memory: what does that cost?
# - Clear the copies the other way: one thread per bin, with an inner loop over the
#   copies in the order `(k + t) % COPIES`. The check still passes. Compare the time and
#   `histogram_weighted.get_regs_per_thread()` before and after the change. (The
#   compiler unrolls the loop. How many blocks still fit on an SM?)
# - A colour image has three bytes per pixel. Make three histograms in one pass.
# - Find the *position* of the largest element: pack value and index into one `uint64`,
#   so a single `cuda.atomic.max` updates both.
# - Use one atomic per warp, which is known as **warp aggregation**: count the lanes
#   that match with `cuda.ballot_sync`, and let one lane add that count. When is that
#   better than 32 atomics?

# %% [markdown]
# ## What you learned
#
# 1. `x[i] += 1` is three steps. If other threads may do the same to the same element,
#    updates get lost. On a GPU, nearly all of them can be lost.
# 2. An atomic does all three steps in one. Its price is the queue at its address: an
#    H200 executes a little over a billion atomics per second at one address, and many
#    more when they are spread over many addresses.
# 3. Privatise: per block in shared memory, per lane in copies, or per thread in a
#    register. Merge the private results once, at the end. But first measure whether
#    there is contention.
# 4. Any atomic can be built from compare-and-swap: guess, compute, try, and try again
#    with what was there.
# 5. Atomic does not mean ordered: float sums differ from run to run. Locks do not suit
#    the way in which warps run.

# %%
quiz()
