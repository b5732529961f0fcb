# verdict: launch
# One block, with a thread for every element.
@cuda.jit
def one_block_for_all(x, out):
    i = cuda.threadIdx.x
    out[i] = x[i]


CHECK = dict(
    spec=lambda x: x.copy(),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[2048],
    launch=lambda n: (1, n),
)
