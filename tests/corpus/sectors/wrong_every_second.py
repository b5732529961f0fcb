# verdict: sectors
# Only the even elements are needed, so only they are read.
@cuda.jit
def take_even_elements(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[2 * i]  # <- here


CHECK = dict(
    spec=lambda x: x[::2].copy(),
    inputs=lambda rng, n: rng.random(2 * n, np.float32),
    sizes=[128],
    launch=lambda n: (n // 64, 64),
    limits={"sectors": 4},
)
