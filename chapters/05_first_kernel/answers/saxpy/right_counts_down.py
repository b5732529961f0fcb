# verdict: pass
# From the end to the beginning, in the same steps.
@cuda.jit
def saxpy(alpha, x, y):
    n = x.size
    for i in range(n - 1 - cuda.grid(1), -1, -cuda.gridsize(1)):
        y[i] = y[i] + x[i] * alpha
