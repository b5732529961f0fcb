# verdict: pass
# 48 KiB are exactly what a block may declare.
@cuda.jit
def reverse_in_48_kib(x, out):
    tile = cuda.shared.array((96, 128), float32)
    t = cuda.threadIdx.x
    tile[95, t] = x[t]
    cuda.syncthreads()
    out[t] = tile[95, 127 - t]


CHECK = dict(
    spec=lambda x: x[::-1].copy(),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[128],
    launch=lambda n: (1, n),
)
