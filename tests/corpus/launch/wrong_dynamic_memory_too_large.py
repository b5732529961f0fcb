# verdict: launch
# The GPU has gigabytes; a quarter of a megabyte is nothing.
@cuda.jit
def copy_through_dynamic_memory(x, out):
    tile = cuda.shared.array(0, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    out[t] = tile[t]


CHECK = dict(
    spec=lambda x: x.copy(),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[32],
    launch=lambda n: (1, n, 0, 256 * 1024),
)
