# verdict: launch
# A larger tile means fewer loads.
@cuda.jit
def copy_through_large_tile(x, out):
    tile = cuda.shared.array((128, 128), float32)  # <- here
    t = cuda.threadIdx.x
    tile[127, t] = x[t]
    cuda.syncthreads()
    out[t] = tile[127, 31 - t]


CHECK = dict(
    spec=lambda x: x[::-1].copy(),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[32],
    launch=lambda n: (1, n),
)
