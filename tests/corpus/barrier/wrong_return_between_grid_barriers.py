# verdict: barrier
# Blocks without work can go home before the others meet.
@cuda.jit
def leave_before_the_grid_barrier(x, work, out):
    i = cuda.grid(1)
    if i >= x.size:
        return
    work[i] = float32(2) * x[i]
    cuda.cg.this_grid().sync()  # <- here
    out[i] = work[x.size - 1 - i]


CHECK = dict(
    spec=lambda x: (2 * x, 2 * x[::-1]),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[50],
    launch=lambda n: (3, 32),
)
