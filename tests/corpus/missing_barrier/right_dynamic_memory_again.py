# verdict: pass
# The same dynamic memory with another type, after everyone has read the first.
@cuda.jit
def count_then_reverse(x, out):
    counts = cuda.shared.array(0, int32)
    values = cuda.shared.array(0, float32)
    t = cuda.threadIdx.x

    counts[t] = t
    cuda.syncthreads()
    mirror = counts[63 - t]
    cuda.syncthreads()
    values[t] = x[t]
    cuda.syncthreads()
    out[t] = values[mirror]


CHECK = dict(
    spec=lambda x: x[::-1].copy(),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[64],
    launch=lambda n: (1, n, 0, 4 * n),
)
