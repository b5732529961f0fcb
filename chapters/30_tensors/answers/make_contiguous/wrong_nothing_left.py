# verdict: wrong-value
# Do not divide what is left; but every index is then that of i itself.
@cuda.jit
def make_contiguous(storage, shape, strides, start, out):
    """Write the elements of a view into out, row by row."""
    i = cuda.grid(1)

    if i < out.size:
        place = start
        for dim in range(shape.size - 1, -1, -1):
            place += i % shape[dim] * strides[dim]
        out[i] = storage[place]  # <- here
