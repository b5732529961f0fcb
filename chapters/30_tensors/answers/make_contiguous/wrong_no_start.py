# verdict: wrong-value
# Every view starts at the beginning of its storage.
@cuda.jit
def make_contiguous(storage, shape, strides, start, out):
    """Write the elements of a view into out, row by row."""
    i = cuda.grid(1)

    if i < out.size:
        place = 0
        rest = i
        for dim in range(shape.size - 1, -1, -1):
            place += rest % shape[dim] * strides[dim]
            rest //= shape[dim]
        out[i] = storage[place]  # <- here
