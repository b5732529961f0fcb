# verdict: pass
# Threads without an element leave as soon as no thread waits for them any more.
@cuda.jit
def reverse_ragged_block(x, out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    if t < x.size:
        tile[t] = x[t]
    cuda.syncthreads()
    if t >= x.size:
        return
    out[t] = tile[x.size - 1 - t]


CHECK = dict(
    spec=lambda x: x[::-1].copy(),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[1, 50],
    launch=lambda n: (1, 64),
)
