# verdict: negative-index
# Each value moves one place down to make room for the next.
@cuda.jit
def moving_window(x, out):
    window = cuda.local.array(4, float32)
    i = cuda.grid(1)

    if i < out.size:
        for k in range(4):
            window[k] = x[i + k]
        for k in range(4):
            window[k - 1] = window[k]  # <- here
        out[i] = window[0]


CHECK = dict(
    spec=lambda x: x[1:-2].copy(),
    inputs=lambda rng, n: rng.random(n + 3, np.float32),
    sizes=[40],
    launch=lambda n: (1, 64),
)
