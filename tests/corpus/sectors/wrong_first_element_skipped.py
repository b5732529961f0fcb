# verdict: sectors
# Shifted by one element, they are still side by side.
@cuda.jit
def copy_shifted_by_one(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i + 1]  # <- here


CHECK = dict(
    spec=lambda x: x[1:].copy(),
    inputs=lambda rng, n: rng.random(n + 1, np.float32),
    sizes=[128],
    launch=lambda n: (n // 64, 64),
    limits={"sectors": 4},
)
