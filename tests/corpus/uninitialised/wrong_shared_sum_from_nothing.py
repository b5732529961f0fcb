# verdict: uninitialised
# Memory that nobody has used yet is zero.
@cuda.jit
def sum_on_top_of_nothing(x, out):
    total = cuda.shared.array(1, float32)
    cuda.atomic.add(total, 0, x[cuda.threadIdx.x])  # <- here
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        out[0] = total[0]


CHECK = dict(
    spec=lambda x: x.sum(keepdims=True),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[64],
    launch=lambda n: (1, n),
)
