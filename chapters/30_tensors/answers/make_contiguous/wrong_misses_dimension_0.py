# verdict: wrong-value
# range includes its second argument, so dimension 0 is the last.
@cuda.jit
def make_contiguous(storage, shape, strides, start, out):
    """Write the elements of a view into out, row by row."""
    i = cuda.grid(1)

    if i < out.size:
        place = start
        rest = i
        for dim in range(shape.size - 1, 0, -1):
            place += rest % shape[dim] * strides[dim]
            rest //= shape[dim]
        out[i] = storage[place]  # <- here
