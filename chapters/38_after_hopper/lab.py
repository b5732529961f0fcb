# ---
# jupyter:
#   weft:
#     runs_on: cpu
# ---

# %% [markdown]
# # 38 · After Hopper
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/38_after_hopper.ipynb)
#
# **When you have finished, you can**
#
# - round numbers to e2m1, four bits with eight magnitudes, by hand and in code;
# - compute the shared scale of a block in MXFP8, and say which numbers saturate;
# - compute NVFP4's two levels of scales, and explain why there are two;
# - compute a block-scaled dot product from codes and scales, without decoding them;
# - predict which scales a matrix with outliers needs with four bits, and with eight.
#
# **You need** about 60 minutes and no GPU. Blackwell's tensor cores multiply numbers in
# these formats; here you do their arithmetic in plain Python.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import math

from weft import check, hint, quiz

chapter = weft.lab("38_after_hopper")
checks, formats, measure = chapter.checks, chapter.formats, chapter.measure

# %% [markdown]
# ## 1 · Four bits
#
# A number in **e2m1** has a sign, two bits of exponent and one bit of mantissa. There
# are only eight magnitudes, so the whole format fits into a table:
#
# | code | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 |
# | --- | --- | --- | --- | --- | --- | --- | --- | --- |
# | value | 0 | 0.5 | 1 | 1.5 | 2 | 3 | 4 | 6 |
#
# Codes 8 to 15 are the same values with a minus sign. There is no infinity and no NaN.
# `formats.E2M1[code]` is the value of a code.
#
# Rounding has three rules. Take the **nearest** value. In a tie, take the value whose
# code is **even**, so that the errors do not all have the same sign: 2.5 is halfway
# between 2 and 3, and becomes 2, which has code 4. Beyond the largest value,
# **saturate**: 100 becomes 6.
#
# `e2m1(x)` returns the code of a finite number. Stuck? Run `hint("e2m1")`; there are
# three hints.


# %%
def e2m1(x):
    """Return the code, 0 to 15, of the number of e2m1 that is nearest to x."""

    # about 4 lines
    # BEGIN SOLUTION
    def distance(code):
        return abs(abs(x) - formats.E2M1[code]), code % 2

    return min(range(8), key=distance) + (8 if x < 0 else 0)
    # END SOLUTION


# %%
check(
    e2m1,
    spec=formats.e2m1,
    inputs=checks.numbers,
    because=checks.why_not_this_code,
    without=("formats.e2m1", "formats.nearest"),
)

# %% [markdown] tags=["solution"]
# From 1 to 6, rounding changes a number by up to a fifth. Below 1 the change can be
# larger, and numbers up to 0.25 become 0. Beyond 6, any amount can be lost. So the
# precision depends on the scale by which the numbers are divided before they are
# rounded.

# %% [markdown]
# ## 2 · A power of two for 32 numbers
#
# In the formats of the OCP's Microscaling specification (**MX**), 32 neighbouring
# numbers share a scale. **MXFP8** has elements of 8 bits, here e4m3. An element's value
# is its e4m3 number times the scale of its block. The scale is a power of two, stored
# in one byte that is only an exponent, **e8m0**: a byte b stands for 2^(b − 127).
#
# The specification has a rule for the scale. Take the largest power of two that is not
# above the largest magnitude of the block, and divide it by the largest power of two in
# the format of the elements. In e4m3 that is 2^8 = 256, although the largest number is
# 448.
#
# | largest magnitude | its power of two | scale | byte |
# | --- | --- | --- | --- |
# | 1 | 2^0 | 2^−8 | 119 |
# | 0.75 | 2^−1 | 2^−9 | 118 |
# | 300 | 2^8 | 2^0 | 127 |
#
# If the exponent would be below −127, the byte is 0. A block of zeros has byte 0 too.
# `mx_scale(block)` returns the byte. `math.frexp` helps; if you use `math.log2`, mind
# the zeros. Stuck? `hint("mx_scale")`.


# %%
def mx_scale(block):
    """Return the e8m0 byte, 0 to 254, of the scale of a block of 32 numbers."""
    # about 5 lines
    # BEGIN SOLUTION
    most = max(abs(x) for x in block)
    if most == 0:
        return 0
    exponent = math.floor(math.log2(most)) - 8
    return max(exponent, -127) + 127
    # END SOLUTION


# %%
check(
    mx_scale,
    spec=formats.mx_scale,
    inputs=checks.mx_blocks,
    because=checks.why_not_this_byte,
    without=("formats.mx_scale",),
)

# %% [markdown] tags=["solution"]
# To multiply by a power of two is simple, since only exponents are added. In general,
# however, such a scale does not bring the largest number of a block to exactly 448.
# After the division, the largest number is between 256 and 512, and numbers from 448 on
# **saturate**. If the largest magnitude is 500, it becomes 448, which is 10 % too
# small. You will see below how much this matters, and what changes if the scale is
# rounded up.

# %% [markdown]
# ## 3 · Two levels
#
# **NVFP4** is NVIDIA's format for four bits. Its blocks have 16 numbers in e2m1, and
# the scale of a block is a number in **e4m3**, which has three bits of mantissa. So the
# scale can bring the largest magnitude of a block close to 6, which is code 7; a power
# of two would bring it only to within a factor of 2.
#
# The range of e4m3, however, is only from 2^−9 to 448. So there is a second scale, one
# float32 for the whole tensor. An element is
#
# **value of the code × scale of the block × scale of the tensor**
#
# Compute the scale of the tensor first, then the scales of the blocks:
#
# - choose the scale of the tensor so that its largest magnitude becomes 6, the largest
#   value, in a block whose scale is 448, the largest scale;
# - choose the scale of each block so that the largest magnitude of the *block* becomes
#   6, and round it to e4m3.
#
# `formats.float32(x)` and `formats.e4m3(x)` round a number to these formats.
#
# `nvfp4_scales(values)` takes a tuple of numbers, and returns the scale of the tensor
# and a tuple with the scale of each block. The number of values is a multiple of 16,
# and they are not all 0. Stuck? `hint("nvfp4_scales")`.


# %%
def nvfp4_scales(values):
    """Return (scale of the tensor, scales of its blocks)."""
    # about 6 lines
    # BEGIN SOLUTION
    tensor = formats.float32(max(abs(x) for x in values) / (6 * 448))
    scales = []
    for start in range(0, len(values), 16):
        most = max(abs(x) for x in values[start : start + 16])
        scales.append(formats.e4m3(most / 6 / tensor))
    return tensor, tuple(scales)
    # END SOLUTION


# %%
check(
    nvfp4_scales,
    spec=formats.nvfp4_scales,
    inputs=checks.tensors,
    same=checks.same_scales,
    without=("formats.nvfp4_scales",),
)

# %% [markdown] tags=["solution"]
# The scale of the tensor does not make the numbers more precise. It only moves the
# scales of the blocks into the range of e4m3. A block whose largest magnitude is less
# than 1/458,752 of the tensor's (half of 2^−9, divided by 448) gets the scale 0, and
# all its numbers are lost. The check has such a block.
#
# The scale takes 8 bits for 16 numbers, so NVFP4 needs 4.5 bits per number. MXFP8 needs
# 8.25.

# %% [markdown]
# ## 4 · A dot product in blocks
#
# To multiply two such vectors, you do not have to decode them first. In each block, add
# up the products of the codes' values. Then multiply the sum by the block's two scales:
#
# $$ a \cdot b = \sum_k s_k \, t_k \sum_{i \text{ in block } k} a_i \, b_i $$
#
# Here $s_k$ and $t_k$ are the scales of block k of `a` and of `b`.
#
# The inner sum needs little hardware, because every product of two values of e2m1 is a
# multiple of 0.25, and no larger than 36. The result is multiplied by the scales of the
# two tensors at the very end, which a kernel does in its epilogue.
#
# `scaled_dot(a, b)` takes two vectors and returns their dot product. A vector has
#
# - `a.codes`, a tuple of codes from 0 to 15;
# - `a.block`, the number of elements in a block, 16 or 32, the same in both vectors;
# - `a.scales`, a tuple with one scale per block, and `a.tensor`, one for all.
#
# Stuck? `hint("scaled_dot")`.


# %%
def scaled_dot(a, b):
    """Return the dot product of two block-scaled vectors."""
    # about 7 lines
    # BEGIN SOLUTION
    total = 0.0
    for k, (left, right) in enumerate(zip(a.scales, b.scales, strict=True)):
        part = 0.0
        for i in range(k * a.block, (k + 1) * a.block):
            part += formats.E2M1[a.codes[i]] * formats.E2M1[b.codes[i]]
        total += part * left * right
    return total * a.tensor * b.tensor
    # END SOLUTION


# %%
check(
    scaled_dot,
    spec=formats.scaled_dot,
    inputs=checks.pairs,
    because=checks.why_not_this_dot,
    without=("formats.scaled_dot",),
)

# %% [markdown] tags=["solution"]
# In exact arithmetic, the result is the same as if all numbers were decoded first, with
# fewer multiplications: two per block for the scales, not two per element. The
# specification of MX does not say how a tensor core has to round intermediate results.
#
# The scales have to be operands of the instruction, because they change *along k*,
# within a sum. A scale per row of `a` could be applied in the epilogue.

# %% [markdown]
# ## Which scales does a matrix need?
#
# Now encode two matrices and multiply them. The *weights* are 16 rows of 1024 normally
# distributed numbers. The *activations* are different in two ways. First, the
# magnitudes of their rows differ by up to a factor of 16. Second, three of the 1024
# columns are outliers, 40 times as large in every row, as in language models.
#
# Each row of the table is a format with its scales. Where your functions apply, they do
# the work. `zeros` is the share of the activations that become 0. `error` compares the
# products with float64: it is the root mean square of the errors, in % of the root mean
# square of the products.
#
# Predict the error of each row before you run the cell. Does a scale per row help with
# outliers that are in every row? Does a scale per block help numbers of eight bits as
# much as numbers of four?

# %%
guess = {
    "e2m1, per tensor": None,
    "e2m1, per row": None,
    "MXFP4, per 32": None,
    "NVFP4, per 16": None,
    "e4m3, per tensor": None,
    "MXFP8, per 32": None,
    "MXFP8, rounded up": None,
}

measure.show_errors(e2m1, mx_scale, nvfp4_scales, scaled_dot, guess=guess)

# %% [markdown] tags=["solution"]
# - **Per tensor**, nearly all activations become 0. The outliers take up the whole
#   range of the eight magnitudes, and only their products are left.
# - **Per row** hardly helps, because each row has its outliers.
# - **Per block**, only the blocks of the three outliers suffer. NVFP4 is better than
#   MXFP4, from which it differs in two ways: its blocks are smaller, and its scales are
#   finer.
# - **e4m3** is accurate even with a single scale. Each of its numbers has an exponent
#   of four bits, which acts like a scale. Blocks gain nothing on these data.
# - **MXFP8 by the specification's rule** is even less accurate, because in some blocks
#   the largest number saturates. With the scale rounded up, most of this loss is gone.

# %% [markdown]
# ## If you want more

# %% [markdown]
# - Raise `measure.TIMES` to 4000. Which numbers become 0 in e4m3 with a scale per
#   tensor, but not in MXFP8?
# - Give NVFP4 blocks of 32, or scales that are powers of two. Which of its two
#   differences from MXFP4 gains more?
# - Round at random, up or down in proportion to the distance (*stochastic rounding*).
#   Compare the mean of many products with the exact product.
# - Write the encoder as a kernel in Numba: one warp per two blocks, with a shuffle for
#   the largest magnitude.

# %% [markdown]
# ## What you learned
#
# 1. e2m1 has eight magnitudes. Rounding takes the nearest value, or in a tie the one
#    with the even code, and saturates at 6.
# 2. In MX, 32 numbers share a scale, which is rounded down to a power of two. So the
#    largest number of a block can saturate.
# 3. NVFP4 has a scale in e4m3 for each 16 numbers. A float32 for the whole tensor keeps
#    these scales in range.
# 4. A block-scaled product adds up products of codes, and multiplies the sum of each
#    block by two scales.
# 5. With outliers, numbers of four bits need scales per block. Numbers of eight bits,
#    of which four are an exponent, need such scales much less.

# %%
quiz()
