"""Specifications and data for the checks of lab 29."""

import numpy as np

from weft.checking.slips import result_if

GAP = 3  # elements between two rows


def normal(rng, *shape, dtype=np.float32):
    """Return random numbers around 0."""
    return rng.standard_normal(shape).astype(dtype)


def log_shares(x):
    """Return the logarithm of the softmax of each row."""
    x = x - x.max(axis=1, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=1, keepdims=True))


FROM_B = result_if(
    {
        "it goes from b to a": lambda a, b, t: b + t * (a - b),
        "only b is multiplied by t: the difference has no brackets": lambda a, b, t: (
            a + t * b - a
        ),
        "the difference alone is stored, without a": lambda a, b, t: t * (b - a),
    }
)


def shares_in_float32(x, first=None, fill=None):
    """Return log_shares as a program computes it, with some other maximum."""
    x = x.astype(np.float32)
    if fill is not None:
        wide = 1 << (x.shape[1] - 1).bit_length()
        padded = np.pad(x, ((0, 0), (0, wide - x.shape[1])), constant_values=fill)
    else:
        padded = x
    top = padded.max(axis=1, keepdims=True) if first is None else first(padded)
    return x - top - np.log(np.exp(padded - top).sum(axis=1, keepdims=True))


def without_log(x):
    """Return the softmax's differences less the sum of the exponentials itself."""
    x = x - x.max(axis=1, keepdims=True)
    return x - np.exp(x).sum(axis=1, keepdims=True)


def without_exp(x):
    """Return the differences less the logarithm of their own sum, padded as loaded."""
    x = x - x.max(axis=1, keepdims=True)
    wide = 1 << (x.shape[1] - 1).bit_length()
    fill = -np.inf if wide > x.shape[1] else 0
    return x - np.log(x.sum(axis=1, keepdims=True) + fill)


def beyond_as_one(x):
    """Return log_shares with a 1 in the sum for each element beyond the row."""
    x = x - x.max(axis=1, keepdims=True)
    beyond = (1 << (x.shape[1] - 1).bit_length()) - x.shape[1]
    return x - np.log(np.exp(x).sum(axis=1, keepdims=True) + beyond)


SHARES = result_if(
    {
        "the maximum begins at 0": lambda x: shares_in_float32(
            x, lambda x: np.maximum(x.max(axis=1, keepdims=True), 0)
        ),
        "the maximum is not subtracted": lambda x: shares_in_float32(
            x, lambda x: np.float32(0)
        ),
        "elements beyond the row count as 0": lambda x: shares_in_float32(x, fill=0),
        "no logarithm is taken": lambda x: np.exp(log_shares(x)),
        "elements beyond the row count as -1": lambda x: shares_in_float32(x, fill=-1),
        "only the logarithm is subtracted, and not the maximum": lambda x: (
            log_shares(x) + x.max(axis=1, keepdims=True)
        ),
        "the logarithm is added, not subtracted": lambda x: (
            2 * (x - x.max(axis=1, keepdims=True)) - log_shares(x)
        ),
        "the sum is subtracted, not its logarithm": lambda x: without_log(x),
        "the exponential is taken of the sum, which is far below 0: the logarithm of "
        "the result is minus infinity": lambda x: np.full_like(x, np.inf),
        "the sum is of exp(x), and not of exp(x - m)": lambda x: (
            shares_in_float32(x, lambda x: np.float32(0)) - x.max(axis=1, keepdims=True)
        ),
        "the differences are summed, and no exponential is taken": lambda x: (
            without_exp(x)
        ),
        "elements beyond the row count as the maximum: exp(0) is 1": beyond_as_one,
        "the maximum is taken of the exponentials, which may be infinite": (
            lambda x: shares_in_float32(
                x, lambda x: np.exp(x).max(axis=1, keepdims=True)
            )
        ),
    },
    tolerance=1e-5,
)


def gapped(rng, rows, cols):
    """Return rows around 100 and -100 in turn, in a view with gaps."""
    around = 100 * (-1) ** np.arange(rows)[:, None]
    x = (normal(rng, rows, cols + GAP) + around).astype(np.float32)
    return (x[:, :cols],)


def normed(x, weight, eps):
    """Return RMSNorm of each row, computed in double precision."""
    wide = x.astype(np.float64)
    mean = (wide * wide).mean(axis=1, keepdims=True)
    return (wide / np.sqrt(mean + eps) * weight).astype(np.float16)


def loud_rows(rng, rows, cols):
    """Return rows with squares too large for float16, with gaps; weights and eps."""
    x = (normal(rng, rows, cols + GAP) * 150).astype(np.float16)
    return x[:, :cols], normal(rng, cols, dtype=np.float16), 1e4


def scaled(mean=lambda squares: squares.mean(axis=1, keepdims=True), weigh=True):
    """Return RMSNorm with another mean, or without the weight."""

    def norm(x, weight, eps):
        squares = x.astype(np.float64) ** 2
        return x / np.sqrt(mean(squares) + eps) * (weight if weigh else 1)

    return norm


def in_float16(slips):
    """Return the same slips, whose results are stored as float16."""

    def stored(slip):
        return lambda x, weight, eps: slip(x, weight, eps).astype(np.float16)

    return {what: stored(slip) for what, slip in slips.items()}


NORMS = result_if(
    in_float16(
        {
            "the weight is left out": scaled(weigh=False),
            "eps is left out": lambda x, weight, eps: scaled()(x, weight, 0),
            "eps is added to the root": lambda x, weight, eps: (
                x / (np.sqrt((x**2).mean(axis=1, keepdims=True)) + eps) * weight
            ),
            "the squares are not divided by their number": scaled(
                lambda squares: squares.sum(axis=1, keepdims=True)
            ),
            "eps is added before the division by `cols`": lambda x, weight, eps: (
                scaled()(x, weight, eps / x.shape[1])
            ),
            "eps is multiplied, not added": lambda x, weight, eps: (
                x / np.sqrt((x**2).mean(axis=1, keepdims=True) * eps) * weight
            ),
            "eps is added after the root is taken": lambda x, weight, eps: (
                x * (1 / np.sqrt((x**2).mean(axis=1, keepdims=True)) + eps) * weight
            ),
            "each element is multiplied by the root, not divided": (
                lambda x, weight, eps: (
                    x * np.sqrt((x**2).mean(axis=1, keepdims=True) + eps) * weight
                )
            ),
            "the elements are added up, not their squares": lambda x, weight, eps: (
                x / np.sqrt(x.mean(axis=1, keepdims=True) + eps) * weight
            ),
            "only whole blocks of a row are added up": scaled(
                lambda squares: (
                    squares[:, : squares.shape[1] // 64 * 64].sum(axis=1, keepdims=True)
                    / squares.shape[1]
                )
            ),
            "the second loop loads row 0 in every program": lambda x, weight, eps: (
                x[:1] / np.sqrt((x**2).mean(axis=1, keepdims=True) + eps) * weight
            ),
            "the sum is divided by the length of the block": scaled(
                lambda squares: squares.sum(axis=1, keepdims=True) / 64
            ),
            "the loop that adds up squares goes on by 1, not by `BLOCK`": scaled(
                lambda squares: (
                    (squares * np.arange(1, squares.shape[1] + 1).clip(max=64)).sum(
                        axis=1, keepdims=True
                    )
                    / squares.shape[1]
                )
            ),
            "only the last block of a row is added up": scaled(
                lambda squares: (
                    squares[:, (squares.shape[1] - 1) // 64 * 64 :].sum(
                        axis=1, keepdims=True
                    )
                    / squares.shape[1]
                )
            ),
            "nothing is added up over the columns": scaled(
                lambda squares: (
                    sum(
                        np.pad(squares, ((0, 0), (0, 64)))[:, first : first + 64]
                        for first in range(0, squares.shape[1], 64)
                    )[:, np.arange(squares.shape[1]) % 64]
                    / squares.shape[1]
                )
            ),
            "squares do not fit into float16": lambda x, weight, eps: scaled(
                lambda _: (
                    (x.astype(np.float16) ** 2)
                    .astype(np.float32)
                    .mean(axis=1, keepdims=True)
                )
            )(x, weight, eps),
        }
    ),
    tolerance=3e-3,
)


def layer(x, w, bias):
    """Return relu(x @ w.T + bias), computed in double precision."""
    x, w, bias = (each.astype(np.float64) for each in (x, w, bias))
    return np.maximum(x @ w.T + bias, 0).astype(np.float16)


def layer_data(rng, m, n, k):
    """Return a layer in which large parts of each sum cancel, and the bias most."""
    x, w = normal(rng, m, k), normal(rng, n, k)
    half = k // 2
    x[:, :half] *= 60
    w[:, :half] *= 60
    x[:, half : 2 * half] -= x[:, :half]
    w[:, half : 2 * half] = w[:, :half]
    x[:, half] += 128
    bias = 20 * normal(rng, n) - 128 * w[:, half]
    return tuple(each.astype(np.float16) for each in (x, w, bias))


def in_steps(x, w, after=lambda total: total, keep=True):
    """Return x @ w.T in steps of 16, with something done after each step."""
    total = np.zeros((x.shape[0], w.shape[0]))
    for k in range(0, x.shape[1], 16):
        part = x[:, k : k + 16] @ w[:, k : k + 16].T
        total = after(total * keep + part)
    return total


def rectified(x):
    """Return x, and 0 where it is negative."""
    return np.maximum(x, 0)


LAYERS = result_if(
    {
        "`w` is read as if it were (K, N)": lambda x, w, bias: rectified(
            x @ w.reshape(w.shape[::-1]) + bias
        ),
        "the bias is chosen by the row": lambda x, w, bias: rectified(
            x @ w.T + np.resize(bias, len(x))[:, None]
        ),
        "the bias is left out": lambda x, w, bias: rectified(x @ w.T),
        "the bias is added after the maximum": lambda x, w, bias: (
            rectified(x @ w.T) + bias
        ),
        "the bias is added in every step": lambda x, w, bias: rectified(
            in_steps(x, w, lambda total: total + bias)
        ),
        "bias and maximum are applied in each step along K": lambda x, w, bias: (
            in_steps(x, w, lambda total: rectified(total + bias))
        ),
        "the sums are rounded to float16 before the bias is added": lambda x, w, bias: (
            rectified((x @ w.T).astype(np.float16) + bias)
        ),
        "the maximum is taken in every step": lambda x, w, bias: rectified(
            in_steps(x, w, rectified) + bias
        ),
        "each step replaces the sums so far": lambda x, w, bias: rectified(
            in_steps(x, w, keep=False) + bias
        ),
        "`tl.dot` adds to the sums, and its result is added to them again": (
            lambda x, w, bias: rectified(in_steps(x, w, keep=2) + bias)
        ),
        "the sums are kept in float16": lambda x, w, bias: rectified(
            in_steps(x, w, lambda total: total.astype(np.float16).astype(float)) + bias
        ),
        "negative numbers are kept": lambda x, w, bias: x @ w.T + bias,
        "the smaller of 0 and the sum is kept, not the larger": lambda x, w, bias: (
            np.minimum(x @ w.T + bias, 0)
        ),
    },
    tolerance=3e-3,
)


def largest(x):
    """Return the largest elements of blocks of 16 rows, added; zeros beyond the end."""
    wide = np.pad(x, ((0, -len(x) % 16), (0, 0)))
    return wide.reshape(-1, 16, x.shape[1]).max(axis=1).sum(axis=0)


SUMS = result_if(
    {
        "the largest element of each block is added, not its sum": largest,
        "each program replaces the sums of the others": lambda x: x[
            (len(x) - 1) // 16 * 16 :
        ].sum(axis=0),
    }
)


def order(grid_m, grid_n, group):
    """Return all tiles as (row, column), in grouped order."""
    return [
        (row, col)
        for first in range(0, grid_m, group)
        for col in range(grid_n)
        for row in range(first, min(first + group, grid_m))
    ]
