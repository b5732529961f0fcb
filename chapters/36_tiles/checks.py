"""Specifications, data and likely causes for the checks of lab 36."""

import numpy as np

from weft.checking.slips import result_if

TILE = 16  # of the checks: along each axis, except where they say otherwise


def normal(rng, *shape, dtype=np.float32):
    """Return random numbers around 0."""
    return rng.standard_normal(shape).astype(dtype)


MAGNITUDES = result_if(
    {
        "no root is taken": lambda x, y: x * x + y * y,
        "the numbers are added, and not their squares": lambda x, y: np.sqrt(x + y),
        "only `x` takes part": lambda x, y: abs(x),
        "only `y` takes part": lambda x, y: abs(y),
        "the roots are added, and not the squares": lambda x, y: abs(x) + abs(y),
    },
    tolerance=1e-5,
)


def in_tiles(x, move=True, turn=True):
    """Return x with its tiles moved to the transposed place, and each one transposed.

    A tile that has no room in the result is left out.
    """
    out = np.zeros(x.shape[::-1], x.dtype)
    tiles = [-(-n // TILE) for n in x.shape]
    wide = np.full([n * TILE for n in tiles], np.nan)  # padding is anything
    wide[: x.shape[0], : x.shape[1]] = x
    for i in range(tiles[0]):
        for j in range(tiles[1]):
            tile = wide[i * TILE : (i + 1) * TILE, j * TILE : (j + 1) * TILE]
            tile = tile.T if turn else tile
            row, col = (j, i) if move else (i, j)
            place = out[row * TILE : (row + 1) * TILE, col * TILE : (col + 1) * TILE]
            place[...] = tile[: place.shape[0], : place.shape[1]]
    return out


TRANSPOSED = result_if(
    {
        "each tile is moved, but not transposed itself": lambda x: in_tiles(
            x, turn=False
        ),
        "each tile is transposed, but stays where it is": lambda x: in_tiles(
            x, move=False
        ),
        "nothing is transposed": lambda x: in_tiles(x, move=False, turn=False),
    },
    tolerance=1e-6,
)


def shares(x):
    """Return the softmax of each row."""
    power = np.exp(x - x.max(axis=1, keepdims=True))
    return power / power.sum(axis=1, keepdims=True)


def negative(rng, rows, cols):
    """Return rows far below 0, where a 0 would be the maximum."""
    return (normal(rng, rows, cols) - 30,)


def padded(x, fill):
    """Return the softmax of rows that are filled up to a power of two."""
    wide = 1 << (x.shape[1] - 1).bit_length()
    missing = ((0, 0), (0, wide - x.shape[1]))
    rows = np.pad(x.astype(np.float32), missing, constant_values=fill)
    return shares(rows)[:, : x.shape[1]]


SHARES = result_if(
    {
        "elements beyond the row count as 0": lambda x: padded(x, 0),
        "elements beyond the row do not count for the maximum, and add 1 to the sum "
        "each": lambda x: (
            np.exp(x - x.max(axis=1, keepdims=True))
            / (
                np.exp(x - x.max(axis=1, keepdims=True)).sum(axis=1, keepdims=True)
                + (1 << (x.shape[1] - 1).bit_length())
                - x.shape[1]
            )
        ),
        "the powers are not divided by their sum": lambda x: np.exp(
            x - x.max(axis=1, keepdims=True)
        ),
        "the differences are divided by their sum, without `ct.exp`": lambda x: (
            (x - x.max(axis=1, keepdims=True))
            / (x - x.max(axis=1, keepdims=True)).sum(axis=1, keepdims=True)
        ),
        "every element is divided by itself: an axis with one element is reduced": (
            lambda x: np.ones_like(x)
        ),
        "every block loads row 0": lambda x: np.broadcast_to(shares(x[:1]), x.shape),
        "the maximum is not subtracted": lambda x: (
            np.exp(x.astype(np.float32))
            / np.exp(x.astype(np.float32)).sum(axis=1, keepdims=True)
        ),
    },
    tolerance=1e-5,
)


def product(a, b):
    """Return a @ b, computed in double precision."""
    return (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float16)


def cancelling(rng, m, k, n, large=60):
    """Return float16 matrices in whose product large parts of each sum cancel.

    large: by how much the parts that cancel are larger than the others.
    """
    a, b = normal(rng, m, k), normal(rng, k, n)
    half = k // 2
    a[:, :half] *= large
    b[:half] *= large
    a[:, half : 2 * half] -= a[:, :half]
    b[half : 2 * half] = b[:half]
    return a.astype(np.float16), b.astype(np.float16)


def in_float16(a, b, error):
    """Return a sentence if errors of a @ b are not larger than float16 sums make them.

    Such sums lose up to a thousandth of the largest part of a sum in each step.
    """
    parts = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64))
    if not np.all(np.abs(error) <= 1.5e-3 * parts):
        return ""
    return (
        "Large parts of these sums cancel, and the error is no larger than what "
        "float16 loses. In which type are the sums kept?"
    )


def steps(a, b, after=lambda total: total, keep=1):
    """Return a @ b in steps of one tile, with something done after each step."""
    total = np.zeros((a.shape[0], b.shape[1]))
    for k in range(0, a.shape[1], TILE):
        total = after(total * keep + a[:, k : k + TILE] @ b[k : k + TILE])
    return total


def repeated(a, b):
    """Return the sum over k of the first tile, as often as there are tiles."""
    return -(-a.shape[1] // TILE) * (a[:, :TILE] @ b[:TILE])


STEPS = {
    "each step replaces the sums so far": lambda a, b: steps(a, b, keep=0),
    "`ct.mma` adds to `acc`, and its result is added to `acc` again": lambda a, b: (
        steps(a, b, keep=2)
    ),
    "every step multiplies the first tiles": repeated,
    "only the first step is made": lambda a, b: a[:, :TILE] @ b[:TILE],
}

STEPPED = result_if(STEPS, tolerance=3e-3)


def products_because(a, b, got):
    """Return the likely cause of a wrong product, or an empty text."""
    return STEPPED(a, b, got) or in_float16(a, b, got - product(a, b))


def sigmoid(x):
    """Return 1 / (1 + exp(-x))."""
    return 1 / (1 + np.exp(-x))


def silu(x):
    """Return x * sigmoid(x)."""
    return x * sigmoid(x)


def layer(x, w, bias):
    """Return silu(x @ w + bias), computed in double precision."""
    x, w, bias = (each.astype(np.float64) for each in (x, w, bias))
    return silu(x @ w + bias).astype(np.float16)


def layer_data(rng, m, n, k):
    """Return a layer whose sums are of the size of its bias, and of larger parts."""
    x, w = cancelling(rng, m, k, n, large=8)
    return x, (w / np.sqrt(k)).astype(np.float16), normal(rng, n, dtype=np.float16)


def with_slip(slip):
    """Return a layer in which the sums are those of `slip`."""
    return lambda x, w, bias: silu(slip(x, w) + bias)


SLIPS = result_if(
    {
        "the bias is left out": lambda x, w, bias: silu(x @ w),
        "SiLU is left out": lambda x, w, bias: x @ w + bias,
        "the bias is added after SiLU": lambda x, w, bias: silu(x @ w) + bias,
        "the bias is added in every step": lambda x, w, bias: silu(
            steps(x, w, lambda total: total + bias)
        ),
        "SiLU is taken in every step": lambda x, w, bias: silu(
            steps(x, w, silu) + bias
        ),
        "only the sigmoid is stored": lambda x, w, bias: sigmoid(x @ w + bias),
        "the sign in the exponential is missing": lambda x, w, bias: (
            (x @ w + bias) * sigmoid(-(x @ w + bias))
        ),
        "the bias is chosen by the row": lambda x, w, bias: silu(
            x @ w + np.resize(bias, len(x))[:, None]
        ),
        "the sigmoid is that of the sums without the bias": lambda x, w, bias: (
            (x @ w + bias) * sigmoid(x @ w)
        ),
        **{what: with_slip(slip) for what, slip in STEPS.items()},
    },
    tolerance=3e-3,
)


def layers_because(x, w, bias, got):
    """Return the likely cause of a wrong layer, or an empty text."""
    return SLIPS(x, w, bias, got) or in_float16(x, w, got - layer(x, w, bias))
