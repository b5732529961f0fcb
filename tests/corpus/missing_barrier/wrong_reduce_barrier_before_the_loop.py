# verdict: race
# One barrier after the loads; from there on it is arithmetic.
@cuda.jit
def reduce_with_one_barrier(x, out):
    tile = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()

    step = 64
    while step > 0:
        if t < step:
            tile[t] += tile[t + step]  # <- here
        step //= 2
    if t == 0:
        out[0] = tile[0]


CHECK = dict(
    spec=lambda x: x.sum(keepdims=True),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[128],
    launch=lambda n: (1, n),
)
