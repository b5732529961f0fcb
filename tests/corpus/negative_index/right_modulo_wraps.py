# verdict: pass
# In Python, the remainder by n is never negative, nor is it in a kernel.
@cuda.jit
def difference_round_the_end(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] - x[(i - 1) % x.size]


CHECK = dict(
    spec=lambda x: x - np.roll(x, 1),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[1, 300],
    launch=lambda n: (-(-n // 128), 128),
)
