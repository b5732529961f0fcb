# verdict: barrier
# Only the threads that add have to wait.
@cuda.jit
def reduce_with_barrier_inside(x, out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()

    step = 32
    while step > 0:
        if t < step:
            tile[t] += tile[t + step]
            cuda.syncthreads()  # <- here
        step //= 2

    cuda.syncthreads()  # <- here
    out[t] = tile[0]


CHECK = dict(
    spec=lambda x: np.full(x.size, x.sum()),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[64],
    launch=lambda n: (1, n),
)
