# verdict: race
# The fence makes sure that everyone sees the stores.
@cuda.jit
def reverse_behind_a_fence(x, work, out):
    t = cuda.threadIdx.x
    work[t] = x[t]  # <- here
    cuda.threadfence()
    out[t] = work[x.size - 1 - t]  # <- here


CHECK = dict(
    spec=lambda x: (x.copy(), x[::-1].copy()),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[64],
    launch=lambda n: (1, n),
)
