# verdict: pass
# One thread writes, all wait, all read.
@cuda.jit
def divide_by_first_after_barrier(x, out):
    first = cuda.shared.array(1, float32)
    t = cuda.threadIdx.x

    if t == 0:
        first[0] = x[0]
    cuda.syncthreads()
    out[t] = x[t] / first[0]


CHECK = dict(
    spec=lambda x: x / x[0],
    inputs=lambda rng, n: rng.random(n, np.float32) + np.float32(1),
    sizes=[1, 64],
    launch=lambda n: (1, n),
)
