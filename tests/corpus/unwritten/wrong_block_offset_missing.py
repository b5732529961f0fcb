# verdict: unwritten
# threadIdx says which thread I am.
@cuda.jit
def double_by_thread_index(x, out):
    i = cuda.threadIdx.x
    if i < x.size:
        out[i] = float32(2) * x[i]  # <- here


CHECK = dict(
    spec=lambda x: 2 * x,
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[100],
    launch=lambda n: (-(-n // 64), 64),
)
