"""A faster kernel than the lab's: it makes a view contiguous in 32 bits."""

from numba import cuda, int32, uint32


@cuda.jit
def make_contiguous32(storage, shape, strides, start, out):
    """make_contiguous, counting in 32 bits."""
    i = cuda.grid(1)

    if i < out.size:
        at = int32(start)
        left = uint32(i)
        for step in range(shape.size):
            dim = shape.size - 1 - step
            size = uint32(shape[dim])
            quotient = uint32(left // size)
            index = int32(left - quotient * size)
            at = int32(at + index * strides[dim])
            left = quotient
        out[i] = storage[at]
