# verdict: pass
# Make one index of the two; neighbouring threads stay neighbours.
@cuda.jit
def mirror(x, m, n, out):
    gx, gy = cuda.grid(2)
    k = gy * cuda.gridsize(2)[0] + gx
    if k < m * n:
        col = k // m
        row = k % m
        out[row + m * (n - 1 - col)] = x[k]
