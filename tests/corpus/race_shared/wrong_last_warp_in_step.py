# verdict: race
# Below 32 threads only one warp is left, so the barrier can go.
@cuda.jit
def reduce_last_warp_in_step(x, out):
    tile = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()

    step = 64
    while step > 0:
        if t < step:
            tile[t] += tile[t + step]  # <- here
        if step > 32:
            cuda.syncthreads()
        step //= 2
    if t == 0:
        out[0] = tile[0]


CHECK = dict(
    spec=lambda x: x.sum(keepdims=True),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[128],
    launch=lambda n: (1, n),
)
