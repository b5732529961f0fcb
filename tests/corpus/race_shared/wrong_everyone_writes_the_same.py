# verdict: race
# All of them write a 1, so the order does not matter.
@cuda.jit
def any_negative_flag(x, out):
    found = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    if t == 0:
        found[0] = 0
    cuda.syncthreads()

    if x[t] < float32(0):
        found[0] = 1  # <- here
    cuda.syncthreads()

    out[t] = found[0]


CHECK = dict(
    spec=lambda x: np.full(x.size, (x < 0).any(), np.int32),
    inputs=lambda rng, n: rng.standard_normal(n).astype(np.float32),
    sizes=[64],
    launch=lambda n: (1, n),
)
