# verdict: pass
# A function for the GPU may be called, and may change arrays.
@cuda.jit(device=True)
def put_square(x, out, i):
    out[i] = x[i] * x[i]


@cuda.jit
def call_a_device_function(x, out):
    i = cuda.grid(1)
    if i < x.size:
        put_square(x, out, i)


CHECK = dict(
    spec=lambda x: x * x,
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[1, 40],
    launch=lambda n: (-(-n // 32), 32),
)
