# verdict: warp
# Half of the warp shuffles while the other half waits for the block.
@cuda.jit
def shuffle_beside_a_barrier(x, out):
    t = cuda.threadIdx.x
    value = x[t]
    if t < 16:
        value = cuda.shfl_sync(0xFFFFFFFF, value, 0)  # <- here
    else:
        cuda.syncthreads()  # <- here
    out[t] = value


CHECK = dict(
    spec=lambda x: np.where(np.arange(x.size) < 16, x[0], x),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[32],
    launch=lambda n: (1, n),
)
