# verdict: pass
# Since Volta a barrier waits only for the threads that are still there.
@cuda.jit
def reverse_with_half_the_warps(x, out):
    tile = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    if t >= 32:
        return
    tile[t] = x[t]
    cuda.syncthreads()
    out[t] = tile[31 - t]


CHECK = dict(
    spec=lambda x: x[::-1].copy(),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[32],
    launch=lambda n: (1, 64),
)
