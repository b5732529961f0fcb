# verdict: unwritten
# Even blocks take the even elements of their part; no thread takes the odd ones.
@cuda.jit
def even_odd(x, table, out):
    """Send even samples through rise, odd ones through fold."""
    t = cuda.grid(1)

    if t < x.size:
        if cuda.blockIdx.x % 2 == 0:
            if t % 2 == 0:
                out[t] = rise(x[t], table)
        else:
            if t % 2 == 1:
                out[t] = fold(x[t], table)
