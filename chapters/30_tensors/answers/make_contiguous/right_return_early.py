# verdict: pass
# Guard by returning, and count the dimensions down with while.
@cuda.jit
def make_contiguous(storage, shape, strides, start, out):
    """Write the elements of a view into out, row by row."""
    i = cuda.grid(1)
    if i >= out.size:
        return

    place = start
    dim = shape.size
    while dim > 0:
        dim -= 1
        index = i % shape[dim]
        i = (i - index) // shape[dim]
        place += index * strides[dim]
    out[cuda.grid(1)] = storage[place]
