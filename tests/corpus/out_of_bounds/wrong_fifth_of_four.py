# verdict: out-of-bounds
# Five weights need indices up to five, and four is below that.
@cuda.jit
def weights_of_four(x, out):
    window = cuda.local.array(4, float32)
    i = cuda.grid(1)

    if i < out.size:
        for k in range(5):
            window[k] = x[i + k]  # <- here
        total = float32(0)
        for k in range(4):
            total += window[k]
        out[i] = total


CHECK = dict(
    spec=lambda x: x[:-4] + x[1:-3] + x[2:-2] + x[3:-1],
    inputs=lambda rng, n: rng.random(n + 4, np.float32),
    sizes=[60],
    launch=lambda n: (1, 64),
)
