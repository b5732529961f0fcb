# verdict: endless-loop
# Count down in twos, until one is left.
@cuda.jit
def count_down_in_twos(x, out):
    i = cuda.grid(1)
    left = x.size
    pairs = 0
    while left != 1:  # <- here
        left -= 2
        pairs += 1
    out[i] = pairs


CHECK = dict(
    spec=lambda x: np.full(x.size, x.size // 2, np.int32),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[5, 4],
    launch=lambda n: (1, n),
)
