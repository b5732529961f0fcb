# verdict: pass
# 1024 threads are allowed.
@cuda.jit
def copy_in_largest_block(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i]


CHECK = dict(
    spec=lambda x: x.copy(),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[1, 1500],
    launch=lambda n: (-(-n // 1024), 1024),
)
