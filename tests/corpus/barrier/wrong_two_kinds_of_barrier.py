# verdict: barrier
# Half of the threads count while they wait.
@cuda.jit
def count_in_half_a_block(x, out):
    t = cuda.threadIdx.x
    count = 0
    if t < 32:
        count = cuda.syncthreads_count(int32(x[t] > float32(0.5)))  # <- here
    else:
        cuda.syncthreads()  # <- here
    out[t] = count


CHECK = dict(
    spec=lambda x: np.where(np.arange(64) < 32, np.count_nonzero(x[:32] > 0.5), 0),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[64],
    launch=lambda n: (1, n),
)
