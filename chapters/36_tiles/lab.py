# %% [markdown]
# # 36 · Tiles
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/36_tiles.ipynb)
#
# **After this lab, you can**
#
# - write kernels in cuTile that load, compute and store whole tiles;
# - choose a padding for tiles that reach past the end of an array;
# - multiply matrices of any size on tensor cores in fifteen lines, and compute a whole
#   layer of a network in one kernel;
# - find out from the compiled kernel how many blocks fit on an SM, and change that
#   number with a hint;
# - recognise a tile that does not fit into registers.
#
# **You need** about 80 minutes, and Linux or Windows: cuTile has no builds for macOS.
# You do not need a GPU. The exercises run on the CPU, under this course's sanitizer,
# and without a GPU the measurements show times from the reference GPU, an H200. If you
# use a GPU, it needs compute capability 8.0 or higher and 4 GB of memory, and you need
# `tileiras`, CUDA's tile compiler: `pip install "cuda-tile[tileiras]"`. With
# `tileiras`, the checks also compile your kernels, even without a GPU.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

from weft import check, hint, quiz

chapter = weft.lab("36_tiles")

import cuda.tile as ct

Constant = ct.Constant[int]
checks, measure = chapter.checks, chapter.measure
cdiv = ct.cdiv

# %% [markdown]
# ## Tiles instead of threads
#
# Here is chapter 5's addition in cuTile. A **block** computes one tile. A tile is a
# part of an array that is handled as a single value. `ct.bid(0)` is the number of the
# block. `ct.load` takes an index and a shape: tile 3 of shape `(TILE,)` has the
# elements from `3 * TILE` to `4 * TILE - 1`. So **an index counts tiles, not
# elements**. The code mentions no threads. The compiler decides how many threads a
# block gets, and which elements each thread has.
#
# There is no mask either, because an array comes with its shape. If the last tile
# reaches past the end of the array, `ct.store` leaves out what is outside. A load fills
# the tile with **padding**, which is undefined unless you choose it.


# %% tags=["given"]
@ct.kernel
def add(x, y, out, TILE: Constant):
    i = ct.bid(0)

    a = ct.load(x, index=(i,), shape=(TILE,))
    b = ct.load(y, index=(i,), shape=(TILE,))
    ct.store(out, index=(i,), tile=a + b)


# %% [markdown]
# The shape of a tile is part of the kernel's type, so `TILE` is annotated as a
# **constant**, and the kernel is compiled again for each new value. Every side of a
# tile is a power of two. On a GPU, with tensors of PyTorch, a launch looks like this:
#
# ```python
# grid = (ct.cdiv(x.numel(), 1024),)
# ct.launch(torch.cuda.current_stream(), grid, add, (x, y, out, 1024))
# ```
#
# ## 1 · A tile is a value
#
# Write `magnitude`, the length of the vector (x, y): the root of x² + y², for each
# element. Operators and `ct.sqrt` work on tiles, as in NumPy.
#
# ```python
# magnitude(x, y, out, TILE)    # all (n,) float32
# ```
#
# The check runs every block in NumPy, and traces which elements the block touches.
# Stuck? Run `hint("magnitude")`; there are three hints.


# %%
@ct.kernel
def magnitude(x, y, out, TILE: Constant):
    # about 4 lines
    # BEGIN SOLUTION
    i = ct.bid(0)

    right = ct.load(x, index=(i,), shape=(TILE,))
    up = ct.load(y, index=(i,), shape=(TILE,))
    ct.store(out, index=(i,), tile=ct.sqrt(right * right + up * up))
    # END SOLUTION


# %%
check(
    magnitude,
    spec=lambda x, y: (x * x + y * y) ** 0.5,
    because=checks.MAGNITUDES,
    inputs=lambda rng, n: (checks.normal(rng, n), checks.normal(rng, n)),
    sizes=[97, 300],
    launch=lambda n, TILE=64: ((cdiv(n, TILE),), {"TILE": TILE}),
    full_tiles={"TILE": 1024},
    limits={"loaded": 1, "stored": 1},
)

# %% [markdown] tags=["solution"]
# In the last tile, the padding takes part in the computation, whatever its values are.
# This does no harm, because `ct.store` leaves out the same elements.

# %% [markdown]
# ## 2 · Tiles of two dimensions
#
# In a matrix, a tile has two indices and two sides. The index `(i, j)` selects the tile
# in row `i` and column `j` of tiles.
#
# Write `transpose`, with square tiles. Block (i, j) loads tile (i, j) of `x`. Then
# transpose the tile with `ct.transpose`, and store it at its new place. In chapter 13,
# this took shared memory, a barrier, and 33 columns instead of 32. Stuck?
# `hint("transpose")`.
#
# ```python
# transpose(x, out, TILE)    # x (n, m), out (m, n) float32
# ```

# %%
@ct.kernel
def transpose(x, out, TILE: Constant):
    # about 3 lines
    # BEGIN SOLUTION
    i, j = ct.bid(0), ct.bid(1)

    tile = ct.load(x, index=(i, j), shape=(TILE, TILE))
    ct.store(out, index=(j, i), tile=ct.transpose(tile))
    # END SOLUTION


# %%
check(
    transpose,
    spec=lambda x: x.T,
    because=checks.TRANSPOSED,
    inputs=lambda rng, n, m: (checks.normal(rng, n, m),),
    sizes=[(40, 40), (37, 70), (50, 20)],
    launch=lambda n, m: ((cdiv(n, 16), cdiv(m, 16)), {"TILE": 16}),
    full_tiles={"TILE": 64},
    limits={"loaded": 1, "stored": 1},
)

# %% [markdown] tags=["solution"]
# Both steps are needed. Elements change their place within a tile, and tiles change
# their place within the matrix.

# %% [markdown]
# ## 3 · Padding
#
# `ct.max(tile, axis=1, keepdims=True)` and `ct.sum`, with the same arguments, reduce an
# axis of a tile to one element. With `keepdims=True` the result still has two
# dimensions, so it can be combined with the tile.
#
# Write the softmax of each row (chapter 16), with one row per block. The tile has the
# shape `(1, WIDTH)`, and `WIDTH` is a power of two that is at least as large as the
# row. Here the padding does affect the result. Choose it with `padding_mode=`: there
# are `ct.PaddingMode.ZERO`, `NAN`, `POS_INF`, `NEG_INF` and `NEG_ZERO`.
#
# ```python
# softmax(x, out, WIDTH)    # x, out (rows, cols) float32; WIDTH >= cols
# ```
#
# Subtract the maximum of a row before you take `ct.exp`. Stuck? `hint("softmax")`.


# %%
@ct.kernel
def softmax(x, out, WIDTH: Constant):
    # about 6 lines
    # BEGIN SOLUTION
    i = ct.bid(0)

    row = ct.load(
        x,
        index=(i, 0),
        shape=(1, WIDTH),
        padding_mode=ct.PaddingMode.NEG_INF,
    )
    power = ct.exp(row - ct.max(row, axis=1, keepdims=True))
    total = ct.sum(power, axis=1, keepdims=True)
    ct.store(out, index=(i, 0), tile=power / total)
    # END SOLUTION


# %%
check(
    softmax,
    spec=checks.shares,
    because=checks.SHARES,
    inputs=checks.negative,
    sizes=[(3, 70), (4, 128), (5, 100)],
    launch=lambda rows, cols: ((rows,), {"WIDTH": 128}),
    unseen=(4, 90),
    full_tiles={"WIDTH": 4096},
    limits={"loaded": 1, "stored": 1},
)

# %% [markdown] tags=["solution"]
# Minus infinity is below every maximum, and its exponential is 0. Zeros would be wrong
# for two reasons: the maximum of a row of negative numbers would become 0, and each
# zero would add to the sum.

# %% [markdown]
# ## 4 · A product of tiles
#
# `ct.mma(p, q, acc)` multiplies a tile of shape (m, k) by a tile of shape (k, n), and
# returns the product plus `acc`, a tile of shape (m, n). On a GPU, tensor cores do this
# work. `acc` has its own type. Begin with a tile of float32 zeros,
# `ct.full((TM, TN), 0, dtype=ct.float32)`, because float16 has too few digits for long
# sums. Before the store, `ct.astype(acc, c.dtype)` converts the sums to the type of the
# array.
#
# Write `matmul`. Block (i, j) computes tile (i, j) of `c`, in a loop over the tiles of
# row i of `a` and of column j of `b`. `ct.num_tiles(a, axis=1, shape=(TM, TK))` is the
# number of tiles along an axis; the last one may reach past the end of `a` and of `b`.
# Stuck? `hint("matmul")`.
#
# ```python
# matmul(a, b, c, TM, TN, TK)
#     # a (M, K), b (K, N), c (M, N) float16
# ```

# %%
@ct.kernel
def matmul(a, b, c, TM: Constant, TN: Constant, TK: Constant):
    # about 10 lines
    # BEGIN SOLUTION
    i, j = ct.bid(0), ct.bid(1)
    zero = ct.PaddingMode.ZERO

    acc = ct.full((TM, TN), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TM, TK))):
        left = ct.load(a, index=(i, k), shape=(TM, TK), padding_mode=zero)
        right = ct.load(b, index=(k, j), shape=(TK, TN), padding_mode=zero)
        acc = ct.mma(left, right, acc)
    ct.store(c, index=(i, j), tile=ct.astype(acc, c.dtype))
    # END SOLUTION


# %%
check(
    matmul,
    spec=checks.product,
    because=checks.products_because,
    inputs=checks.cancelling,
    sizes=[(32, 32, 32), (20, 37, 70), (33, 16, 17)],
    launch=lambda m, k, n: (
        (cdiv(m, 16), cdiv(n, 32)),
        {"TM": 16, "TN": 32, "TK": 16},
    ),
    full_tiles={"TM": 128, "TN": 128, "TK": 64},
    tolerance=3e-3,
)

# %% [markdown] tags=["solution"]
# The padding matters only along K, where zeros add nothing to a sum. Rows beyond M and
# columns beyond N affect only sums that are not stored.
#
# The check uses float16 because NumPy has no bfloat16. On a GPU, the kernel works with
# either type, which it takes from its arrays.

# %% [markdown]
# ## 5 · A layer
#
# This exercise starts from an empty kernel. A layer of a network is a product, a bias,
# and a function of each element, here **SiLU**: SiLU(h) = h / (1 + e^(-h)). Write
# `dense`, which computes all three in one kernel, while the sums are still float32 in
# registers. What comes after the loop is called the **epilogue** (chapter 22).
#
# ```python
# dense(x, w, bias, out, TM, TN, TK)    # out = silu(x @ w + bias)
#     # x (M, K), w (K, N), bias (N,), out (M, N) float16
# ```
#
# Block (i, j) computes tile (i, j) of `out`. A tile of one dimension is combined with a
# matrix as in NumPy: it is a row. Stuck? `hint("dense")`.


# %%
@ct.kernel
def dense(x, w, bias, out, TM: Constant, TN: Constant, TK: Constant):
    """Store silu(x @ w + bias)."""
    # BEGIN SOLUTION
    i, j = ct.bid(0), ct.bid(1)
    zero = ct.PaddingMode.ZERO

    acc = ct.full((TM, TN), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(x, axis=1, shape=(TM, TK))):
        p = ct.load(x, index=(i, k), shape=(TM, TK), padding_mode=zero)
        q = ct.load(w, index=(k, j), shape=(TK, TN), padding_mode=zero)
        acc = ct.mma(p, q, acc)

    acc = acc + ct.astype(ct.load(bias, index=(j,), shape=(TN,)), ct.float32)
    acc = acc / (1 + ct.exp(-acc))
    ct.store(out, index=(i, j), tile=ct.astype(acc, out.dtype))
    # END SOLUTION


# %%
check(
    dense,
    spec=checks.layer,
    because=checks.layers_because,
    inputs=checks.layer_data,
    sizes=[(32, 32, 32), (20, 70, 37), (33, 17, 16)],
    launch=lambda m, n, k: (
        (cdiv(m, 16), cdiv(n, 32)),
        {"TM": 16, "TN": 32, "TK": 16},
    ),
    full_tiles={"TM": 128, "TN": 128, "TK": 64},
    tolerance=3e-3,
)

# %% [markdown] tags=["solution"]
# The bias and SiLU need no further trip to memory. In PyTorch, SiLU is a second kernel,
# which loads and stores the whole matrix once more.

# %% [markdown]
# ## Measure: one row per block
#
# Your softmax loads every element once. How close should it come to the speed of a
# copy? A block has its row in registers, so first look at what the compiler gives to a
# block, and how many blocks fit on an SM. `tileiras` compiles the kernels without a
# GPU.

# %%
measure.show_resources(softmax, matmul)

# %% [markdown]
# An SM has 65,536 registers. In the tables below, each row differs from *mine* in one
# respect. The exceptions are the last row, and *4 rows per block* for rows of 4096
# numbers, where the compiler also chooses eight warps. A hint to the compiler is an
# argument of the decorator, such as `@ct.kernel(occupancy=4)`.
# `softmax.replace_hints(occupancy=4)` changes it afterwards.
#
# | row | kernel |
# | --- | --- |
# | *mine* | your softmax, without hints |
# | *4 rows per block* | a tile of (4, `WIDTH`) |
# | *8 warps* | `num_worker_warps=8`: eight warps compute, instead of four |
# | *occupancy n* | the compiler has to leave room for n blocks per SM |
# | *no TMA* | `allow_tma=False`: the threads load and store |
# | *loop* | one block per SM, which takes one row after another |
# | *loop, occupancy 4* | four blocks per SM, which do the same |
#
# With `torch.softmax` as 1.0, where do you expect *mine* to be? Which single change
# gains the most? What happens with *occupancy 8*?

# %%
guess = {"mine": None, "4 rows per block": None, "occupancy 4": None}

by_hints = measure.by_hints(softmax, guess)
by_hints[4096]

# %%
by_hints[1024]

# %% tags=["solution"]
by_hints[4096].expect("occupancy 4", at_least=1.5, times="mine")
by_hints[4096].expect("no TMA", at_least=2, times="mine")
by_hints[1024].expect("no TMA", at_least=3, times="mine")

# %% [markdown] tags=["solution"]
# A single block per SM loads a row, waits, computes and stores, while nothing else
# happens on its SM. *Occupancy 4* leaves room for four such blocks, each of which can
# still keep a row in registers. With *occupancy 8* a row does not fit: each thread
# keeps 112 bytes in local memory. **Without the TMA**, no warps are specialised, so
# blocks are small and six of them fit on an SM. With rows of 1024 numbers, a block has
# less to load, so more blocks are needed to keep the memory busy.

# %% [markdown]
# ## More measurements
#
# The solution and the chapter's page explain what each table shows. The last section
# has ideas for more.

# %% [markdown]
# ### Products
#
# All rows multiply bfloat16 matrices, in tiles of TM × TN and steps of 64. Unless the
# row's name says otherwise, the kernel is your `matmul`, with four warps that compute.
# A thread can have 255 registers. How many float32 sums does each of the 128 threads
# keep for a tile of 128 × 128, and how many for 128 × 256? *Grouped* takes the tiles in
# chapter 29's order. With cuBLAS as 1.0, where do you expect each row to be?

# %%
guess = {"128 x 128": None, "128 x 256": None, "128 x 256, 8 warps": None}

products = measure.ladder(matmul, guess)
products[8192]

# %%
products[4096]

# %% tags=["solution"]
products[8192].expect("128 x 256", at_most=0.3, times="128 x 128")
products[8192].expect("128 x 256, 8 warps", at_least=1.03, times="128 x 128")
products[8192].expect("128 x 128, grouped", at_least=1.05, times="128 x 128")
products[8192].expect("128 x 256, 8 warps, grouped", at_least=0.9)

# %% [markdown] tags=["solution"]
# For a tile of 128 × 128, each thread keeps 128 sums. For 128 × 256, it would keep 256,
# which do not fit, so every step of the loop loads and stores some of them. If eight
# warps share the larger tile, the sums fit again. The order of the tiles matters where
# the matrices are larger than the L2 cache.

# %% [markdown]
# ### Transposes
#
# The table shows your transpose, in tiles of three sizes, with a copy as 1.0. Chapter
# 13 needed several improvements to reach a copy's speed. How close does the compiler
# come?

# %%
guess = {"mine, 32 x 32": None, "mine, 64 x 64": None}

transposes = measure.transposes(transpose, guess)
transposes

# %% tags=["solution"]
transposes.expect("mine, 64 x 64", at_least=0.9)
transposes.expect("mine, 64 x 64", at_least=2, times="x.t().contiguous()")

# %% [markdown] tags=["solution"]
# Three lines of code are nearly as fast as a copy. The compiler has decided where
# shared memory is needed, and how it is laid out.

# %% [markdown]
# ### A fused layer
#
# Compare `dense` with PyTorch's product with bias, followed by SiLU. How much time does
# it save to do both in one kernel? The separate SiLU loads and stores 67 MB each, and
# the product takes 69 billion operations.

# %%
guess = {"mine, 128 x 128": None, "torch.compile": None}

layers = measure.layers(dense, guess)
layers

# %% tags=["solution"]
layers.expect("mine, 128 x 256, 8 warps", at_most=0.95)

# %% [markdown] tags=["solution"]
# The fused kernel is slower than PyTorch's two kernels. It saves the traffic of the
# second kernel, but with 16 steps per tile its product is slower than that of cuBLAS.
# Fusion saves time only if the fused kernel is about as fast as the library's.

# %% [markdown]
# ### How large a tile?
#
# The table shows `magnitude` in tiles of three sizes. In chapter 5, each thread had one
# element. Does the size of a tile matter?

# %%
guess = {"tiles of 128": None, "tiles of 1024": None, "tiles of 8192": None}

sizes = measure.tile_sizes(magnitude, guess)
sizes

# %% tags=["solution"]
sizes.expect("tiles of 1024", at_least=1.3, times="tiles of 128")

# %% [markdown] tags=["solution"]
# A tile of 128 elements is too little work for a block: the block ends too soon to keep
# the memory busy.

# %% [markdown]
# ### If you want more
#
# - Let `dense` take `w` as PyTorch stores it, (N, K). `ct.transpose` or the argument
#   `order` of `ct.load` will help.
# - Write `layer_norm` in the style of `softmax`. What is the right padding for the
#   mean, and what for the variance?
# - Split-K: let several blocks share a tile of `matmul`, each with a part of K, and add
#   up their sums with `ct.atomic_add`. For which shapes is that faster?
# - `cuda.tile.tune` tries a list of tiles and hints. Which would you give it for
#   `matmul`, and which can you rule out without measuring?

# %% [markdown]
# ## What you learned
#
# 1. A tile is a value whose shape is known to the compiler. Blocks load, compute and
#    store tiles; the compiler takes care of threads, shared memory and barriers.
# 2. An index counts tiles. A tile may reach past the end of its array: a store leaves
#    out what is outside, and a load fills it with the padding that you choose.
# 3. A product of tiles is a loop with `ct.mma` and a float32 accumulator. What comes
#    after the loop needs no extra trip to memory.
# 4. The compiler chooses how many threads and registers a block has, and this
#    determines how many blocks fit on an SM. A hint such as `occupancy` changes the
#    choice, and the compiled kernel shows the result.
# 5. A tile that does not fit into registers is spilled to local memory: the results are
#    right, but the kernel is slow.

# %%
quiz()
