# verdict: wrong-value
# One iteration for each thread of the grid.
@cuda.jit
def saxpy(alpha, x, y):
    i, step = cuda.grid(1), cuda.gridsize(1)

    for k in range(step):
        if i + k * step < y.size:
            y[i + k * step] += alpha * x[i + k * step]  # <- here
