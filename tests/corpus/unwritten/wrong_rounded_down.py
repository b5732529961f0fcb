# verdict: unwritten
# n // 64 blocks of 64 threads make n threads.
@cuda.jit
def double_whole_blocks(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = float32(2) * x[i]  # <- here


CHECK = dict(
    spec=lambda x: 2 * x,
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[128, 200],
    launch=lambda n: (n // 64, 64),
)
