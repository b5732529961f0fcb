# verdict: launch
# n // 128 blocks are enough; the guard does the rest.
@cuda.jit
def copy_with_no_blocks(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i]


CHECK = dict(
    spec=lambda x: x.copy(),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[100],
    launch=lambda n: (n // 128, 128),
)
