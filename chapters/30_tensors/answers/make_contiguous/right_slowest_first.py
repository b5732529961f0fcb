# verdict: pass
# The slowest index comes first, divided by the size of a slice.
@cuda.jit
def make_contiguous(storage, shape, strides, start, out):
    """Write the elements of a view into out, row by row."""
    i = cuda.grid(1)

    if i < out.size:
        inner = out.size
        rest = i
        place = start
        for dim in range(shape.size):
            inner //= shape[dim]
            place += rest // inner * strides[dim]
            rest %= inner
        out[i] = storage[place]
