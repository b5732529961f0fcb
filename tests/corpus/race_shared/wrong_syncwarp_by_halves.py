# verdict: race
# Each half of the warp waits for itself; that covers the warp.
@cuda.jit
def reverse_by_half_warps(x, out):
    tile = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x

    tile[t] = x[t]  # <- here
    cuda.syncwarp(0x0000FFFF if t < 16 else 0xFFFF0000)
    out[t] = tile[31 - t]  # <- here


CHECK = dict(
    spec=lambda x: x[::-1].copy(),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[32],
    launch=lambda n: (1, n),
)
