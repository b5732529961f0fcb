# verdict: pass
# A barrier of the whole grid separates the phases, between blocks as well.
@cuda.jit
def reverse_with_grid_barrier(x, work, out):
    i = cuda.grid(1)
    work[i] = float32(2) * x[i]
    cuda.cg.this_grid().sync()
    out[i] = work[x.size - 1 - i]


CHECK = dict(
    spec=lambda x: (2 * x, 2 * x[::-1]),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[128],
    launch=lambda n: (n // 32, 32),
)
