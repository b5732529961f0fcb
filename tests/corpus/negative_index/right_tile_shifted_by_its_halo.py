# verdict: pass
# Place 0 of the tile is the left halo, so t - 1 becomes t.
@cuda.jit
def blur_with_halo(x, out):
    tile = cuda.shared.array(66, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)

    tile[t + 1] = x[i] if i < x.size else float32(0)
    if t == 0:
        tile[0] = x[i - 1] if i > 0 else float32(0)
    if t == 63:
        tile[65] = x[i + 1] if i + 1 < x.size else float32(0)
    cuda.syncthreads()

    if i < x.size:
        out[i] = tile[t] + tile[t + 1] + tile[t + 2]


CHECK = dict(
    spec=lambda x: x + np.append(x[:1] * 0, x[:-1]) + np.append(x[1:], x[:1] * 0),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[1, 64, 300],
    launch=lambda n: (-(-n // 64), 64),
)
