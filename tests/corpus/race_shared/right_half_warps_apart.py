# verdict: pass
# Each half waits for itself and reads only itself.
@cuda.jit
def reverse_each_half(x, out):
    tile = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x

    tile[t] = x[t]
    cuda.syncwarp(0x0000FFFF if t < 16 else 0xFFFF0000)
    out[t] = tile[t ^ 15]


CHECK = dict(
    spec=lambda x: x.reshape(-1, 16)[:, ::-1].reshape(-1).copy(),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[32],
    launch=lambda n: (1, n),
)
