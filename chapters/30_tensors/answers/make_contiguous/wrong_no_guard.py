# verdict: out-of-bounds
# There are as many threads as elements, so there is no need for a guard.
@cuda.jit
def make_contiguous(storage, shape, strides, start, out):
    """Write the elements of a view into out, row by row."""
    i = cuda.grid(1)
    place = start
    rest = i
    for dim in range(shape.size - 1, -1, -1):
        place += rest % shape[dim] * strides[dim]
        rest //= shape[dim]
    out[i] = storage[place]  # <- here
