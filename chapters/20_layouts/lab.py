# ---
# jupyter:
#   weft:
#     runs_on: cpu
# ---

# %% [markdown]
# # 20 · Layout algebra (CuTe)
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/20_layouts.ipynb)
#
# **When you have finished, you can**
#
# - read and write CuTe layouts, such as `(4,(2,3)):(1,(4,8))`, and compute the index of
#   a coordinate;
# - simplify, compose and complement layouts, and say when composition is impossible;
# - divide a tile into what each thread owns, and describe a whole copy as one layout;
# - swizzle a tile, and count the bank conflicts that remain.
#
# **You need** about 110 minutes and no GPU. Everything here is plain Python, except for
# three small kernels, which run in the simulator.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import numpy as np
from numba import cuda, float32

from weft import check, hint, quiz
from weft.exploring import figure

chapter = weft.lab("20_layouts")
checks = chapter.checks
layouts = chapter.layouts
Layout, make_layout = layouts.Layout, layouts.make_layout
modes, parse = layouts.modes, layouts.parse

# %% [markdown]
# ## A layout is a function
#
# A **layout** has a shape and strides. It takes a coordinate and returns an index: it
# multiplies each number of the coordinate by its stride, and adds up the products.
# CuTe, the part of NVIDIA's CUTLASS library that this lab follows, writes
# `shape:stride`.
#
# `layouts`, a module of this chapter, has a small class for layouts. `parse` reads
# CuTe's notation, calling a layout returns an index, and `table()` lists all indices.

# %%
rows = parse("(4,8):(8,1)")  # row-major
columns = parse("(4,8):(1,4)")  # column-major
print(rows(1, 2), columns(1, 2))
print(rows.table())

# %% [markdown]
# Three things are different from NumPy and PyTorch:
#
# - **The leftmost mode is the fastest.** (A *mode* in CuTe is what others call a
#   dimension.) Coordinate number 1 of shape `(4,8)` is (1, 0), not (0, 1). Without
#   strides, a layout is column-major.
# - **A coordinate can be a single number.** `rows(9)` is the index of coordinate number
#   9, which is (1, 2).
# - **Modes can be nested.** In `((2,2),8):((16,1),2)` the first mode has 2 × 2 = 4
#   coordinates. So a mode can reach indices that no single stride would reach, and the
#   layout can still be used as a matrix of 4 × 8.
#
# Play with layouts: choose a preset, type your own layout, and click on a cell.

# %%
figure("layout", layout="((2,2),8):((16,1),2)")

# %% [markdown]
# ## 1 · From a coordinate to an index
#
# `crd2idx(coordinate, shape, stride)` returns the index. At every level, the coordinate
# is either a tuple with one entry per mode, or a single number:
#
# | coordinate | shape | stride | index |
# | --- | --- | --- | --- |
# | `3` | `4` | `8` | 3 · 8 = 24 |
# | `(1, 2)` | `(4, 8)` | `(8, 1)` | 1 · 8 + 2 · 1 = 10 |
# | `9` | `(4, 8)` | `(8, 1)` | the same as for (1, 2) |
# | `40` | `(4, 8)` | `(8, 1)` | 0 · 8 + 10 · 1 = 10, as for (0, 10) |
# | `((1, 0), 2)` | `((2, 2), 8)` | `((16, 1), 2)` | 16 + 0 + 4 = 20 |
# | `(1, 2)` | `((2, 2), 8)` | `((16, 1), 2)` | the same as for ((1, 0), 2) |
#
# To split a number, start on the left and divide by the size of the first mode: the
# remainder is the coordinate in that mode, and the quotient goes on to the next mode.
# The last mode takes what is left, even if that is more than its size, as it is for
# number 40 of `(4, 8)`. The size of a nested mode is the product of its sizes;
# `layouts.size((2, 2))` is 4. Stuck? Run `hint("crd2idx")`; there are three hints.

# %%
def crd2idx(coordinate, shape, stride):
    """Return the index of a coordinate, which may be a number at any level."""
    # about 9 lines
    # BEGIN SOLUTION
    if not isinstance(shape, tuple):
        return coordinate * stride
    if not isinstance(coordinate, tuple):
        parts = []
        for mode in shape[:-1]:
            coordinate, part = divmod(coordinate, layouts.size(mode))
            parts.append(part)
        coordinate = (*parts, coordinate)
    triples = zip(coordinate, shape, stride, strict=True)
    return sum(crd2idx(c, s, d) for c, s, d in triples)
    # END SOLUTION

# %%
check(
    crd2idx,
    spec=layouts.crd2idx,
    inputs=checks.random_coordinates,
    because=checks.why_not_this_index,
    without=("layouts.crd2idx",),
)

# %% [markdown] tags=["solution"]
# The recursion follows the shape, and a number is split only when a tuple is needed. So
# every layout accepts coordinates of many forms. In a layout of shape `((2, 2), 8)`,
# for example, `9`, `(1, 2)` and `((1, 0), 2)` are three names for the same element.
# This is why CuTe's code can treat a tile as a matrix in one line and as a vector in
# the next.
#
# The last mode takes all that is left, and is not divided. So a number beyond the last
# coordinate continues along the last mode. Nothing checks it, just as nothing checks an
# index beyond the end of an array in C.

# %% [markdown]
# ## 2 · Coalescing
#
# Two neighbouring modes can become one if the second continues exactly where the first
# ends, that is, if the second stride is the first size times the first stride. Modes of
# size 1 do nothing and can be dropped. The function stays the same: every number leads
# to the same index as before.
#
# | layout | coalesced |
# | --- | --- |
# | `(4,8):(1,4)` | `32:1` |
# | `(4,8):(8,1)` | `(4,8):(8,1)` |
# | `(2,(1,6)):(1,(77,2))` | `12:1` |
# | `((2,4),(4,2)):((1,2),(8,64))` | `(32,2):(1,64)` |
# | `(1,1):(3,5)` | `1:0` |
#
# PyTorch coalesces the dimensions of every tensor in this way before it launches an
# elementwise kernel. It works from the other end, because PyTorch's fastest dimension
# is the last.
#
# `coalesce(layout)` returns a `Layout` with as few modes as possible and no nesting. If
# a single mode is left, `Layout(32, 1)` and `Layout((32,), (1,))` are both right.
# `modes(layout)` lists the (size, stride) pairs without the nesting. Stuck?
# `hint("coalesce")`.

# %%
def coalesce(layout):
    """Return an equivalent layout with as few modes as possible."""
    # about 12 lines
    # BEGIN SOLUTION
    sizes, strides = [], []
    for size, stride in modes(layout):
        if size == 1:
            continue
        if sizes and stride == sizes[-1] * strides[-1]:
            sizes[-1] *= size
        else:
            sizes.append(size)
            strides.append(stride)
    if not sizes:
        return Layout(1, 0)
    return Layout(tuple(sizes), tuple(strides))
    # END SOLUTION

# %%
check(
    coalesce,
    spec=checks.coalesced,
    inputs=checks.random_layouts,
    same=checks.same_coalesced,
    without=("layouts.coalesce",),
)

# %% [markdown] tags=["solution"]
# The merged mode keeps the stride of its left half, because the left half is the faster
# one. Compare each mode with the **latest merged** mode, not with its original
# neighbour: otherwise `(2,3,4):(1,2,6)` becomes `(6,4):(1,6)` instead of `24:1`.
#
# Fewer modes mean fewer divisions when a coordinate is a number. If only one mode is
# left, with stride 1, the elements are contiguous, and wide loads are possible.

# %% [markdown]
# ## 3 · Composition
#
# A layout maps numbers to numbers, so two of them can be applied one after the other:
# first B, then A. R = A ∘ B is the layout with
#
# **R(c) = A(B(c))** for every coordinate c of B.
#
# B *picks* elements and A says where each one is. For example, `4:2` picks the elements
# 0, 2, 4, 6. In A = `(6,2):(8,2)`, their coordinates are (0, 0), (2, 0), (4, 0) and
# (0, 1), and their indices are 0, 16, 32 and 2.
#
# No single stride leads to these four indices. For `3:2`, one stride is enough: all
# three elements are in A's first mode, so the result is `3:16`. `6:2` picks three
# elements along A's first mode for each of the two coordinates of the second, so the
# result is `(3,2):(16,2)`.
#
# Work through A's modes from the left, with two numbers that change on the way: how
# many elements are still to be picked, and the step between them. A mode of A is
#
# - **skipped** if the step is a multiple of its size. In the next mode, the step is
#   smaller. By which factor?
# - **used** if its size is a multiple of the step. Work out how many of the elements
#   are in this mode (never more than are still to be picked), and which stride they
#   have. In the next mode, the step is 1.
#
# The last mode takes all elements that are left, whatever its size and the step. So B
# may reach beyond A, as number 40 did in exercise 1. If B has several modes, A is
# composed with each of them, and `make_layout(...)` combines the results (this part is
# given). So R always accepts B's coordinates.
#
# `composition(a, b)` returns R. In the check, A is flat and coalesced, and no division
# leaves a remainder. B may have stride 0: `3:0` picks element 0 three times. Stuck?
# `hint("composition")`.

# %%
def composition(a, b):
    """Return the layout R with R(c) = A(B(c))."""
    if isinstance(b.shape, tuple):
        return make_layout(*(composition(a, mode) for mode in b))

    left, step = b.shape, b.stride  # elements to pick, and how far apart
    # about 12 lines
    # BEGIN SOLUTION
    *faster, (_, last) = modes(a)
    sizes, strides = [], []
    for size, stride in faster:
        if step % size == 0:
            step //= size
            continue
        taken = min(size // step, left)
        sizes.append(taken)
        strides.append(step * stride)
        left, step = left // taken, 1
    sizes.append(left)
    strides.append(step * last)
    return layouts.coalesce(Layout(tuple(sizes), tuple(strides)))
    # END SOLUTION

# %%
check(
    composition,
    spec=checks.composed,
    inputs=checks.random_pairs,
    same=checks.same_composed,
    without=("layouts.composition",),
)

# %% [markdown] tags=["solution"]
# Only the first mode that is used can have a step other than 1. After it, the elements
# to be picked are consecutive in the next mode, because the first mode's size is a
# multiple of the step. If neither the step nor a mode's size divides the other, the
# elements are at different places in each repetition of the mode, which no stride can
# describe:

# %% tags=["solution"]
for pair in (("(6,2):(8,2)", "3:4"), ("(4,2):(1,10)", "6:1")):
    try:
        layouts.composition(*map(parse, pair))
    except ValueError as error:
        print(error)

# %% [markdown] tags=["solution"]
# CuTe's documentation calls these the **divisibility conditions**, on strides and on
# shapes. CuTe checks them where it can, when it traces a kernel.
#
# In NumPy, you compose by indexing a table with a table: if `a` and `b` are the tables
# of A and B, then `a[b]` is the table of A ∘ B. A table of a million entries is a poor
# description, though. Two layouts of a few numbers each compose to a third that is just
# as short.

# %% [markdown]
# ## 4 · The complement
#
# A layout such as `4:2` picks the indices 0, 2, 4, 6. Suppose you want to repeat it,
# moved by some distance each time, so that every index from 0 to 23 is reached exactly
# once. The first repetition starts at 0, and the second at 1, to fill the gaps. Then
# everything below 8 is filled, so the others start at 8, 9, 16 and 17. The starts form
# a layout too, `(2,3):(1,8)`. It is the **complement** of `4:2` up to 24.
#
# | layout | up to | complement | because |
# | --- | --- | --- | --- |
# | `4:1` | 24 | `6:4` | no gaps; 6 blocks of 4 |
# | `6:4` | 24 | `4:1` | elements 4 apart, up to the end |
# | `4:2` | 24 | `(2,3):(1,8)` | elements 2 apart; then 3 blocks of 8 |
# | `(2,2):(1,6)` | 24 | `(3,2):(2,12)` | gaps from 2 and from 4; then 2 blocks of 12 |
# | `(4,6):(1,4)` | 24 | `1:0` | nothing is left |
# | `(4,3):(1,0)` | 24 | `6:4` | as for `4:1`; a mode of stride 0 is ignored |
#
# Go through the layout's modes **in order of their strides**. Keep one number,
# `reached`, below which all indices are filled. At first it is 1, because only index 0
# is filled. A mode with stride `stride` leaves room for `stride // reached` steps of
# `reached`, so the complement gets a mode of that size with stride `reached`. Now
# everything below `size * stride` is filled. At the end, one more mode fills what is
# still missing up to `target`.
#
# `complement(layout, target)` returns a layout whose strides increase. It may have
# modes of size 1. `target` is always a multiple of what the layout and its gaps fill;
# modes of `layout` that have size 1 or stride 0 are ignored. Stuck?
# `hint("complement")`.

# %%
def complement(layout, target):
    """Return where the repetitions of a layout start, up to a target."""
    sizes, strides, reached = [], [], 1
    # about 8 lines
    # BEGIN SOLUTION
    for stride, size in sorted((d, n) for n, d in modes(layout)):
        if size == 1 or stride == 0:
            continue
        sizes.append(stride // reached)
        strides.append(reached)
        reached = size * stride
    sizes.append(target // reached)
    strides.append(reached)
    return layouts.coalesce(Layout(tuple(sizes), tuple(strides)))
    # END SOLUTION

# %%
check(
    complement,
    spec=checks.complemented,
    inputs=checks.random_targets,
    same=checks.same_complement,
    without=("layouts.complement",),
)

# %% [markdown] tags=["solution"]
# Modes of size 1, which arise wherever there is no gap, are dropped by `coalesce`.
#
# The complement does not depend on the order of the modes, only on the set of indices.
# Together, a layout and its complement are a bijection onto 0, 1, …, `target` − 1. This
# is what the next exercise relies on: a tile and its complement *are* a tiling.

# %% [markdown]
# ## 5 · What one thread owns
#
# Composition and complement together divide a layout. If `tiler` picks the elements of
# one tile, then
#
# `logical_divide(A, tiler) = composition(A, (tiler, complement(tiler, size(A))))`
#
# is a layout of two modes: (within a tile, from tile to tile). If you divide both modes
# of a matrix, you get four modes: one such pair for the rows, and one for the columns.
# Fix two of the four with a coordinate, and keep the other two. This is **slicing**:
# the fixed modes add up to an offset, and the kept modes are a smaller layout.
#
# - Keep *within* and fix *from tile to tile*: the result is one tile. CuTe calls this
#   `local_tile`. In NumPy, tile (3, 5) of m × n elements is `x[3*m : 4*m, 5*n : 6*n]`.
# - Fix *within* and keep *from tile to tile*: the result is every m-th row and every
#   n-th column. CuTe calls this `local_partition`, because if the "tile" is a block of
#   threads, the result is what one thread owns. In NumPy it is `x[i::m, j::n]`.
#
# Here is `local_tile`:

# %%
def local_tile(layout, tile, at):
    """Return the layout of a tile of a matrix, and the index it starts at."""
    divided = [
        layouts.logical_divide(mode, Layout(size))
        for mode, size in zip(layout, tile, strict=True)
    ]
    inside = make_layout(*(within for within, _ in divided))
    start = sum(across(k) for (_, across), k in zip(divided, at, strict=True))
    return inside, start


print(local_tile(parse("(64,32):(32,1)"), (16, 8), (3, 2)))

# %% [markdown]
# Write `local_partition`. `threads` is the shape of a block of threads, such as
# `(8, 4)`, and `thread` is a coordinate in this shape, such as `(7, 1)`. Return the
# layout of that thread's elements and the index of the first of them.
#
# `local_partition(layout, threads, thread)    # -> (layout, start)`
#
# (CuTe's own function takes a layout of threads and a thread's number, and computes the
# coordinate from them.)
#
# Use your own `composition` and `complement` if you like, or `layouts.logical_divide`.
# The layouts in the check are matrices whose modes may be nested. Stuck?
# `hint("local_partition")`.

# %%
def local_partition(layout, threads, thread):
    """Return the layout of a thread's elements, and the index it starts at."""
    # about 7 lines
    # BEGIN SOLUTION
    divided = [
        layouts.logical_divide(mode, Layout(many))
        for mode, many in zip(layout, threads, strict=True)
    ]
    owned = make_layout(*(across for _, across in divided))
    start = sum(
        within(k) for (within, _), k in zip(divided, thread, strict=True)
    )
    return owned, start
    # END SOLUTION

# %%
check(
    local_partition,
    spec=checks.nth_elements,
    inputs=checks.random_partitions,
    same=checks.same_part,
)

# %% [markdown] tags=["solution"]
# Compared with `local_tile`, *within* and *across* have changed places. `local_tile`
# gives a *block* its tile, and `local_partition` gives a *thread* its elements, which
# are spread over the tile so that neighbouring threads have neighbouring elements. In
# terms of indices, this is the difference between `row = 8 * ty + i` and
# `row = ty + 16 * i`.

# %% [markdown]
# ## 6 · A copy as a layout
#
# A block of 128 threads copies a tile of 64 × 32 floats, with 16 bytes per load. Which
# thread copies which elements? CuTe answers with one layout, from (thread, value) to
# the element: the first coordinate is the thread, and the second is the number of the
# value among those that the thread copies. CuTe keeps this layout in a `TiledCopy`.
#
# The element is not given by its address, because the same copy should work for a tile
# in global memory and for a padded tile in shared memory. It is given by the **number
# of its coordinate** in the tile, `row + col * rows`, since coordinates are numbered
# column-major. Composition with the tile's own layout leads to an address:
#
# `composition(tile, copy)    # (thread, value) -> address`
#
# Write the (thread, value) layout for a copy in which
#
# - a thread's values come in groups of `width` neighbours **along a row**, with one
#   load per group;
# - threads 0, 1, 2, … take neighbouring groups, row by row from the top;
# - when all threads have a group, a new round begins in the next row.
#
# For a tile of 4 × 8 with 8 threads and `width` 2, these are the threads of each
# element, in two rounds:
#
# ```text
#   0 0 1 1 2 2 3 3
#   4 4 5 5 6 6 7 7
#   0 0 1 1 2 2 3 3     <- values 2 and 3 of each thread
#   4 4 5 5 6 6 7 7
# ```
#
# `thread_values(rows, cols, threads, width)` returns a layout whose first mode has
# `threads` coordinates. A round always covers whole rows. Stuck?
# `hint("thread_values")`.

# %%
def thread_values(rows, cols, threads, width):
    """Return the layout of a copy: (thread, value) -> number of the element."""
    # about 6 lines
    # BEGIN SOLUTION
    across = cols // width  # groups in a row
    down = threads // across  # rows in a round
    rounds = rows // down
    shape = ((across, down), (width, rounds))
    stride = ((width * rows, 1), (rows, down))
    return Layout(shape, stride)
    # END SOLUTION

# %%
check(
    thread_values,
    spec=checks.owners,
    inputs=checks.copies,
    same=checks.same_copy,
)

# %% [markdown] tags=["solution"]
# One step along a row adds `rows` to the number of the coordinate, and one step down
# adds 1. So you can read the strides off the drawing: the next thread is `width` steps
# along the row, the thread below is one step down, the next value is one step along the
# row, and the next round is `down` steps down.

# %% [markdown]
# ### One copy, two tiles
#
# Here your layout describes the copy between two tiles: one in global memory, row-major
# and 32 wide, and one in shared memory, whose rows are padded to 36. The kernel gets
# the addresses in both tiles as tables. (CuTe would compile the arithmetic into the
# kernel instead.)

# %%
copy = thread_values(64, 32, 128, 4)
chapter.measure.copied(copy)

# %% [markdown]
# Each request of a warp moves 512 bytes, in 16 sectors and without bank conflicts. The
# assertion at the end shows that the copy is right, although your layout contains
# neither of the widths 32 and 36.
#
# ## 7 · Swizzles
#
# Padding wastes memory, and TMA, the unit that will fill your tiles in chapter 22,
# cannot pad. The alternative is to permute the elements within the tile. CuTe's
# `Swizzle<bits, base, shift>` changes an index in one step: it takes `bits` bits of the
# index, starting at bit `base + shift`, moves them down by `shift`, and XORs them with
# the bits at their new position.
#
# ```text
#   Swizzle<2,1,3>, index 0b110100:    bits 4 and 5 are 11
#                                      moved down by 3, they land on bits 1 and 2
#       110100
#   XOR 000110
#     = 110010
# ```
#
# All other bits stay the same. The lowest `base` bits never change, so groups of
# `2**base` neighbours stay together. The bits that are taken do not change themselves,
# so swizzling twice gives back the index.
#
# `swizzle(index, bits, base, shift)` returns the new index. Stuck? `hint("swizzle")`.

# %%
def swizzle(index, bits, base, shift):
    """Return where CuTe's Swizzle<bits, base, shift> moves an index."""
    # about 2 lines
    # BEGIN SOLUTION
    mask = (1 << bits) - 1
    return index ^ ((index >> (base + shift) & mask) << base)
    # END SOLUTION

# %%
check(
    swizzle,
    spec=checks.swizzled,
    inputs=checks.random_swizzles,
    because=checks.why_not_this_place,
    without=("layouts.swizzle",),
)

# %% [markdown] tags=["solution"]
# In a kernel, this takes three integer instructions: a shift, an AND and an XOR.
# `shift` is at least `bits`, so the bits that are taken and the bits that change do not
# overlap. This is what makes the swizzle a permutation.

# %% [markdown]
# ### Count the conflicts
#
# The kernel of chapter 13 transposes a tile of 32 × 32 floats. A warp writes a row and
# reads a column. Here the tile's layout is an argument, in the form of a table:
# `where[row, col]`.
#
# The second kernel reads pieces of 16 bytes: lane `i` reads a piece of row `i`. Tiles
# are read in this way for tensor cores. Eight lanes are served at a time, since shared
# memory delivers 8 × 16 bytes in one pass. Where a layout separates the four floats of
# a piece, this kernel cannot run, and the table has no number.
#
# Predict before you run the cells. Each number in the table will be a count of bank
# conflicts per request. Which of these layouts have no conflicts when a **row** is
# written, when a **column** is read, and when a **column of 16-byte pieces** is read?

# %%
tiles = {
    "plain": ("(32,32):(32,1)", None),
    "padded by 1": ("(32,32):(33,1)", None),
    "padded by 4": ("(32,32):(36,1)", None),
    "Swizzle<5,0,5>": ("(32,32):(32,1)", (5, 0, 5)),
    "Swizzle<3,2,3>": ("(32,32):(32,1)", (3, 2, 3)),
}
guess = dict.fromkeys(tiles)  # such as "row, column"

chapter.measure.count_conflicts(tiles, guess)

# %% [markdown] tags=["solution"]
# A row is written without conflicts in every layout, because each layout puts the 32
# elements of a row in 32 different banks.
#
# - **Padded by 1** and **Swizzle<5,0,5>** spread a column of single floats over all
#   banks. But with neither layout can you load a 16-byte piece at once: with an odd
#   width, pieces are not aligned, and with a `base` of 0, not even two neighbours stay
#   together.
# - **Padded by 4** and **Swizzle<3,2,3>** keep four floats together and spread the
#   pieces. Columns of single floats still have conflicts. 8 rows use 8 different groups
#   of banks, and the ninth row uses the first group again, so 4 lanes share each bank
#   that is used.
#
# Swizzle<3,2,3> on floats, Swizzle<3,3,3> on 16-bit numbers and Swizzle<3,4,3> on bytes
# are the same permutation: 16-byte pieces stay whole, and piece number p of row r goes
# to p ^ (r % 8). This is the 128-byte swizzle of TMA, which chapter 22 uses.

# %% [markdown]
# ## If you want more
#
# You have done the exercises. Open this section for the layout in which a tensor core
# leaves its result, and for ideas.

# %% [markdown]
# ### A fragment of a tensor core
#
# Here is one more layout, which you will meet again in chapter 21. With the instruction
# `mma.m16n8k16`, a whole warp multiplies matrices, and each thread gets 4 numbers of
# the 16 × 8 result. The PTX manual takes a page of formulas to say which ones. As a
# layout from (thread, value) to the number of the coordinate, `row + 16 * col`, it is
# one line:
#
# `((4,8),(2,2)):((32,1),(16,8))`
#
# Thread 1 is two columns to the right of thread 0 (32 = 2 · 16), and thread 4 is one
# row below it. Within a thread, value 1 is one column to the right of value 0 (16), and
# value 2 is 8 rows below it.

# %%
fragment = parse("((4,8),(2,2)):((32,1),(16,8))")
owner = np.empty((16, 8), int)
for thread in range(32):
    for value in range(4):
        col, row = divmod(fragment(thread, value), 16)
        owner[row, col] = thread
print(owner)

# %%
figure("layout", layout="((4,8),(2,2)):((32,1),(16,8))", show="owner")

# %% [markdown]
# ### Ideas
#
# - Write `right_inverse(layout)`: for a layout that reaches each index once, it returns
#   the layout that leads from the index back to the number of the coordinate. With it,
#   derive `thread_values` from two layouts, as CuTe does: one for the arrangement of
#   the threads, and one for the arrangement of a thread's values.
# - With `complement` and `composition`, write `logical_product(layout, tiler)`, which
#   repeats a layout. Make the tile of the 128-byte swizzle, which is 8 rows of 128
#   bytes, and repeat it until it covers 64 × 64 elements of 2 bytes.
# - Compose `fragment` with the layouts of a shared tile, row-major and swizzled, and
#   count the conflicts when the warp stores its results there. Which padding is best?
# - Install `nvidia-cutlass-dsl`, which needs no GPU for this, and repeat exercises 2 to
#   5 in CuTe itself. The chapter's page shows how.

# %% [markdown]
# ## What you learned
#
# 1. A layout is a function from coordinates to indices, written as shape and strides.
#    With nested modes, it can reach indices that one stride per dimension cannot reach.
# 2. Coalescing keeps the function. Composition applies one layout after another, and
#    the result is a layout if sizes and steps divide evenly. The complement is the
#    layout of the places where repetitions start.
# 3. To divide is to compose with a tile and its complement. If you fix one half of the
#    result, you get a block's tile; if you fix the other half, you get a thread's
#    elements.
# 4. A copy is a layout from (thread, value) to the element, and so is a tensor core's
#    fragment. Composed with a tile's layout, it gives addresses.
# 5. A swizzle XORs some bits of an index with others. It can remove bank conflicts
#    without padding, and `base` decides how many neighbours stay together.

# %%
quiz()
