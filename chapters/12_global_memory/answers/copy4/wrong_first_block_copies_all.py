# verdict: loads
# One block will do, with a loop.
@cuda.jit
def copy4(x, out):
    """Copy x into out, four elements at a time."""
    fours = x.size // 4  # how many groups of four

    if cuda.blockIdx.x == 0:
        for i in range(cuda.threadIdx.x, fours, cuda.blockDim.x):
            a, b, c, d = load4(x, 4 * i)  # <- here
            store4(out, 4 * i, a, b, c, d)

    i = 4 * fours + cuda.grid(1)
    if i < x.size:
        out[i] = x[i]
