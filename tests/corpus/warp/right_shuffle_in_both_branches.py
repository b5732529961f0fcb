# verdict: pass
# Two lines, but the same operation with the same mask: the lanes meet.
@cuda.jit
def exchange_halves(x, out):
    t = cuda.threadIdx.x
    value = x[t]
    if t < 16:
        other = cuda.shfl_xor_sync(0xFFFFFFFF, value, 16)
        out[t] = value - other
    else:
        other = cuda.shfl_xor_sync(0xFFFFFFFF, value, 16)
        out[t] = value + other


CHECK = dict(
    spec=lambda x: np.append(x[:16] - x[16:], x[16:] + x[:16]),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[32],
    launch=lambda n: (1, n),
)
