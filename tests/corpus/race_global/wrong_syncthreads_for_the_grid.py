# verdict: race
# The barrier separates the two phases.
@cuda.jit
def reverse_whole_array_in_phases(x, work, out):
    i = cuda.grid(1)
    work[i] = float32(2) * x[i]  # <- here
    cuda.syncthreads()
    out[i] = work[x.size - 1 - i]  # <- here


CHECK = dict(
    spec=lambda x: (2 * x, 2 * x[::-1]),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[128],
    launch=lambda n: (n // 32, 32),
)
