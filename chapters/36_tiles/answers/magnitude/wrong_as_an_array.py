# verdict: program
# Index the array, as in Numba.
@ct.kernel
def magnitude(x, y, out, TILE: Constant):
    i = ct.bid(0)
    out[i] = ct.sqrt(x[i] * x[i] + y[i] * y[i])  # <- here
