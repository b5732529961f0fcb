# verdict: out-of-bounds
# 64 threads need 64 places of shared memory.
@cuda.jit
def reverse_in_64_bytes(x, out):
    tile = cuda.shared.array(0, float32)
    t = cuda.threadIdx.x

    tile[t] = x[t]  # <- here
    cuda.syncthreads()

    out[t] = tile[x.size - 1 - t]


CHECK = dict(
    spec=lambda x: x[::-1].copy(),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[64],
    launch=lambda n: (1, n, 0, n),
)
