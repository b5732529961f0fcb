# verdict: pass
# A block that has nothing to do leaves as a whole, before the barrier.
@cuda.jit
def reverse_blocks_with_work(x, out):
    tile = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * 32
    if start >= x.size:
        return
    tile[t] = x[start + t]
    cuda.syncthreads()
    out[start + t] = tile[31 - t]


CHECK = dict(
    spec=lambda x: x.reshape(-1, 32)[:, ::-1].reshape(-1).copy(),
    inputs=lambda rng, n: rng.random(32 * n, np.float32),
    sizes=[1, 3],
    launch=lambda n: (n + 2, 32),
)
