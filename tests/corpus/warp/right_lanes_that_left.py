# verdict: pass
# Lanes that have returned do not count, and no lane reads from them.
@cuda.jit
def sum_of_those_left(x, out):
    t = cuda.threadIdx.x
    if t >= 16:
        return
    value = x[t]
    step = 8
    while step > 0:
        value += cuda.shfl_xor_sync(0xFFFFFFFF, value, step)
        step //= 2
    out[t] = value


CHECK = dict(
    spec=lambda x: np.full(16, x.sum()),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[16],
    launch=lambda n: (1, 32),
)
