# verdict: pass
# x is another name afterwards; the input itself stays as it is.
@cuda.jit
def name_given_anew(x, out):
    i = cuda.grid(1)
    if i < x.size:
        value = x[i]
        value *= float32(2)
        out[i] = value


CHECK = dict(
    spec=lambda x: 2 * x,
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[1, 100],
    launch=lambda n: (-(-n // 64), 64),
)
