# verdict: pass
# Each thread has an element of the lower half and its partner in the upper.
@cuda.jit
def double_two_each(x, out):
    i = cuda.grid(1)
    half = (x.size + 1) // 2
    if i < half:
        out[i] = float32(2) * x[i]
        if i + half < x.size:
            out[i + half] = float32(2) * x[i + half]


CHECK = dict(
    spec=lambda x: 2 * x,
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[1, 2, 301],
    launch=lambda n: (-(-n // 128), 64),
)
