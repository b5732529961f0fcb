"""Specifications and data for the checks of lab 32."""

import ctypes
from typing import NamedTuple

import numpy as np

from weft.checking.slips import result_if


def poly_spec(x, a, b):
    """Return a x³ + b x."""
    return a * x**3 + b * x


EXCHANGED = result_if(
    {
        "a and b are exchanged": lambda x, a, b: poly_spec(x, b, a),
        "a term is left out": lambda x, a, b: a * x**3,
        "x is squared, not cubed": lambda x, a, b: a * x**2 + b * x,
    }
)

# what goes wrong in the derivative -> a function that has this derivative
POWERS = {
    "x is not squared": lambda x, a, b: 1.5 * a * x**2 + b * x,
    "x is cubed, not squared": lambda x, a, b: 0.75 * a * x**4 + b * x,
    "the factor of 3 is left out": lambda x, a, b: a * x**3 / 3 + b * x,
    "b is multiplied by x": lambda x, a, b: a * x**3 + b * x**2 / 2,
}


def poly_inputs(rng, *shape):
    """Return a tensor's numbers, and two coefficients."""
    return rng.uniform(-2, 2, shape).astype(np.float32), 0.5, -1.25


ROWS = 3  # of a tile


def tile_sums_spec(x, rows):
    """Return the column sums of each tile."""
    starts = range(0, len(x), rows)
    return np.stack([x[i : i + rows].sum(0) for i in starts])


def tile_sums_inputs(rng, m, n):
    """Return a matrix, and the rows of a tile."""
    return rng.uniform(-1, 1, (m, n)).astype(np.float32), ROWS


def steep_inputs(rng, *shape):
    """Return two tensors' numbers, and two coefficients."""
    grad = rng.uniform(-1, 1, shape).astype(np.float32)
    return grad, *poly_inputs(rng, *shape)


def gelu_inputs(rng, m, n):
    """Return a matrix and a row."""
    x = rng.uniform(-2, 2, (m, n)).astype(np.float32)
    return x, rng.uniform(-1, 1, n).astype(np.float32)


BIAS_RELU_KERNEL = (
    "void bias_relu_kernel(const float *x, const float *bias, float *out, int64_t n, "
    "int64_t columns)"
)


def kernel_arguments(x, bias, out):
    """Return what the kernel of exercise 7 is called with."""
    return x, bias, out, np.int64(x.size), np.int64(bias.size)


def misfits(x, bias):
    """Return inputs of exercise 7 that do not fit together."""
    twice = {"x": np.stack([x, x], axis=2), "bias": np.stack([bias, bias], axis=1)}
    return {
        "a bias that is shorter than a row": (x, bias[:-1]),
        "an x with three dimensions": (twice["x"], bias),
        "a bias with two dimensions": (x, twice["bias"]),
    }


class Vector(NamedTuple):
    """A contiguous array of one dimension on a GPU."""

    address: int
    length: int
    itemsize: int

    def __repr__(self):
        return f"Vector({self.address:#x}, {self.length}, {self.itemsize})"


def c_struct(arguments):
    """Return where a C compiler puts the arguments in a struct."""
    words = []
    for each in arguments:
        if type(each) is Vector:
            place, count, size = each
            words += [0, 0, count, size, place, count, size]
        else:
            words.append(each)
    kinds = ["f" if isinstance(word, float) else "q" for word in words]
    types = {"f": ctypes.c_float, "q": ctypes.c_int64}
    fields = [(f"field{k}", types[kind]) for k, kind in enumerate(kinds)]
    made = type("Parameters", (ctypes.Structure,), {"_fields_": fields})
    places = [getattr(made, name).offset for name, _ in fields]
    return list(zip(places, kinds, words, strict=True))


def random_arguments(rng):
    """Return the arguments of launches, some real and some random."""
    x, out = Vector(0x7000, 1000, 4), Vector(0x9000, 1000, 4)
    cases = [([7, 0.5, 0.25, 9],), ([7, 0.5, 9],), ([0.5],), ([x],)]
    cases += [([x, 0.5, -1.25, out],), ([x, 0.5, out],), ([1.5, x, 7, out],)]
    cases += [([Vector(0x7000, 1000, 8)],)]  # float64
    for _ in range(6):
        kinds = rng.integers(0, 3, rng.integers(2, 6))
        values = [
            Vector(int(rng.integers(1, 99)) * 256, int(rng.integers(1, 99)), 4),
            float(rng.integers(-8, 8)) / 4,
            int(rng.integers(0, 99)),
        ]
        cases.append(([values[kind] for kind in kinds],))
    return cases


def same_fields(got, wanted):
    """Return "" for the right fields, or else what is wrong with them."""
    if not isinstance(got, list | tuple):
        return "Return a list of (offset, kind, value)."
    got = [tuple(field) if isinstance(field, list) else field for field in got]
    for k, (one, two) in enumerate(zip(got, wanted, strict=False)):
        if one == two:
            continue
        if not isinstance(one, tuple) or len(one) != 3:
            return f"Entry {k} is not an (offset, kind, value)."
        if one[2] != two[2]:
            return f"Entry {k} has the value {one[2]}; it should be {two[2]}."
        if one[1] != two[1]:
            kinds = f"the kind {one[1]!r}; it should be {two[1]!r}"
            return f"Entry {k}, {one[2]}, has {kinds}."
        size = 4 if two[1] == "f" else 8
        return (
            f"Entry {k}, {one[2]}, has {size} bytes; a C compiler puts it "
            f"at byte {two[0]}, not {one[0]}."
        )
    if len(got) != len(wanted):
        return f"There should be {len(wanted)} entries, not {len(got)}."
    return ""
