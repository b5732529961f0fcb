# verdict: library
# Lane 0 stores its value in out, and the others add theirs to it.
@cuda.jit
def warp_sum(x, out):
    """Write the sum of each group of 32 elements of x into out."""
    i = cuda.grid(1)
    value = x[i]

    if cuda.laneid == 0:
        out[i // 32] = value
    cuda.syncwarp()
    if cuda.laneid > 0:
        cuda.atomic.add(out, i // 32, value)  # <- here
