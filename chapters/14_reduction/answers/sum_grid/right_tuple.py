# verdict: pass
# The four values stay a tuple; the rest comes first.
@cuda.jit
def sum_grid(x, out):
    """Add the sum of x to out[0]."""
    value = float32(0)

    begin = x.size // 4 * 4
    i = begin + cuda.grid(1)
    if i < x.size:
        value += x[i]

    for i in range(4 * cuda.grid(1), begin, 4 * cuda.gridsize(1)):
        four = load4(x, i)
        value += four[0] + four[1] + four[2] + four[3]

    value = block_sum(value)
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(out, 0, value)
