# verdict: pass
# Below 32 threads syncwarp is enough, before and after each store.
@cuda.jit
def reduce_last_warp_by_syncwarp(x, out):
    tile = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()

    step = 64
    while step >= 32:
        if t < step:
            tile[t] += tile[t + step]
        cuda.syncthreads()
        step //= 2

    if t < 32:
        while step > 0:
            right = tile[t + step]
            cuda.syncwarp()
            tile[t] += right
            cuda.syncwarp()
            step //= 2
        if t == 0:
            out[0] = tile[0]


CHECK = dict(
    spec=lambda x: x.sum(keepdims=True),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[128],
    launch=lambda n: (1, n),
)
