"""What lab 38 measures: the error of products in narrow formats, on a CPU."""

import numpy as np

from . import formats
from .formats import BIAS, E2M1, E2M1_MOST, E4M3_MOST, Scaled

ROWS, LENGTH = 16, 1024
OUTLIERS = (100, 400, 700)  # columns in which all numbers of a matrix are larger
TIMES = 40
NAMES = (
    "e2m1, per tensor",
    "e2m1, per row",
    "MXFP4, per 32",
    "NVFP4, per 16",
    "e4m3, per tensor",
    "MXFP8, per 32",
    "MXFP8, rounded up",
)
BITS = {"MXFP4, per 32": 4.25, "NVFP4, per 16": 4.5}


def matrices():
    """Return activations with outliers, and weights: two (16, 1024), float64.

    The rows of the activations differ in size by up to a factor of 16.
    """
    rng = np.random.default_rng(38)
    x = rng.standard_normal((ROWS, LENGTH)) * 2 ** rng.uniform(-2, 2, (ROWS, 1))
    x[:, OUTLIERS] *= TIMES
    w = rng.standard_normal((ROWS, LENGTH))
    return x.astype(np.float32).astype(float), w.astype(np.float32).astype(float)


def each(function, matrix):
    """Return a function of every element: an array of the matrix's shape."""
    return np.array([[function(float(x)) for x in row] for row in matrix])


def in_e2m1(e2m1, matrix, scales):
    """Return a matrix after rounding its elements, divided by scales, to e2m1."""
    codes = each(e2m1, matrix / scales)
    return np.array(E2M1)[codes] * scales


def in_e4m3(matrix, scales):
    """Return a matrix after rounding its elements, divided by scales, to e4m3."""
    return each(formats.e4m3, matrix / scales) * scales


def largest(matrix, axis=None):
    """Return the largest magnitude of all, or of each row (16, 1) with axis=1."""
    return np.abs(matrix).max(axis=axis, keepdims=axis is not None)


def mx_scales(mx_scale, matrix, most=formats.E4M3_EXPONENT):
    """Return the scale of each element's block of 32.

    most: the exponent of the largest power of two of the elements' format.
    """
    exponents = [
        [mx_scale(tuple(block)) - BIAS for block in formats.blocks(row, 32)]
        for row in matrix.tolist()
    ]
    powers = 2.0 ** (np.array(exponents) + formats.E4M3_EXPONENT - most)
    return powers.repeat(32, axis=1)


def rounded_up(matrix):
    """Return the smallest power of two with which a block of 32 does not saturate."""
    most = np.abs(matrix).reshape(ROWS, -1, 32).max(axis=2)
    return np.exp2(np.ceil(np.log2(most / E4M3_MOST))).repeat(32, axis=1)


def in_nvfp4(e2m1, nvfp4_scales, matrix):
    """Return a matrix as one `Scaled` per row, with one scale of the whole tensor."""
    tensor, scales = nvfp4_scales(tuple(matrix.ravel().tolist()))
    scales = np.array(scales).reshape(ROWS, -1)
    codes = each(e2m1, matrix / (scales.repeat(16, axis=1) * tensor))
    return [
        Scaled(tuple(row.tolist()), tuple(of.tolist()), tensor)
        for row, of in zip(codes, scales, strict=True)
    ]


def decoded(vector):
    """Return the numbers that a `Scaled` stands for."""
    scales = np.array(vector.scales).repeat(vector.block)
    return np.array(E2M1)[list(vector.codes)] * scales * vector.tensor


def products(e2m1, mx_scale, nvfp4_scales, scaled_dot):
    """Return, by name, the activations in a format, and their products with w."""
    x, w = matrices()
    nvfp4 = [in_nvfp4(e2m1, nvfp4_scales, matrix) for matrix in (x, w)]

    def of_matrix(name, matrix):
        match name:
            case "e2m1, per tensor":
                return in_e2m1(e2m1, matrix, largest(matrix) / E2M1_MOST)
            case "e2m1, per row":
                return in_e2m1(e2m1, matrix, largest(matrix, 1) / E2M1_MOST)
            case "MXFP4, per 32":
                return in_e2m1(e2m1, matrix, mx_scales(mx_scale, matrix, most=2))
            case "e4m3, per tensor":
                return in_e4m3(matrix, largest(matrix) / E4M3_MOST)
            case "MXFP8, per 32":
                return in_e4m3(matrix, mx_scales(mx_scale, matrix))
            case "MXFP8, rounded up":
                return in_e4m3(matrix, rounded_up(matrix))

    found = {}
    for name in NAMES:
        if name.startswith("NVFP4"):
            dots = [[scaled_dot(a, b) for b in nvfp4[1]] for a in nvfp4[0]]
            found[name] = np.array([decoded(a) for a in nvfp4[0]]), np.array(dots)
        else:
            left, right = (of_matrix(name, matrix) for matrix in (x, w))
            found[name] = left, left @ right.T
    return found


def table(*functions, guess=None):
    """Return the table of errors, beside what was guessed.

    zeros: the share of the activations that become 0. error: the root of the mean
    square error of the products, by that of the products themselves.
    """
    x, w = matrices()
    right = x @ w.T
    lines = [f"{'':20}{'bits':>8}{'zeros, %':>12}{'error, %':>12}"]
    for name, (left, got) in products(*functions).items():
        bits = BITS.get(name, 4 if "e2m1" in name else 8.25 if "MX" in name else 8)
        zeros = 100 * (left == 0).mean()
        error = 100 * np.sqrt(((got - right) ** 2).mean() / (right**2).mean())
        line = f"{name:20}{bits:>8g}{zeros:>12.1f}{error:>12.2f}"
        lines.append(f"{line}   {(guess or {}).get(name) or ''}".rstrip())
    return "\n".join(lines)


def show_errors(e2m1, mx_scale, nvfp4_scales, scaled_dot, guess):
    """Print the table, if all four functions are written."""
    one = Scaled((2,) * 16, (1.0,))
    answers = (
        e2m1(1.0),
        mx_scale((1.0,) * 32),
        nvfp4_scales((1.0,) * 16),
        scaled_dot(one, one),
    )
    if None in answers:
        print("This cell needs e2m1, mx_scale, nvfp4_scales and scaled_dot.")
        return
    print(table(e2m1, mx_scale, nvfp4_scales, scaled_dot, guess=guess))
