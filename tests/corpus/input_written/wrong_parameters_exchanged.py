# verdict: arguments
# The output is the first parameter, as in C.
@cuda.jit
def copy_the_wrong_way(out, x):  # <- here
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i]


CHECK = dict(
    spec=lambda x: x.copy(),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[100],
    launch=lambda n: (-(-n // 64), 64),
)
