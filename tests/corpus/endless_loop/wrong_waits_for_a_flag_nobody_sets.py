# verdict: endless-loop
# Wait until the flag is raised; someone will.
@cuda.jit
def wait_for_nobody(x, flag, out):
    i = cuda.grid(1)
    while cuda.atomic.add(flag, 0, 0) == 0:  # <- here
        pass
    out[i] = x[i]


CHECK = dict(
    spec=lambda x: (np.ones(1, np.int32), x.copy()),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[2],
    launch=lambda n: (1, n),
    out=lambda x: (np.zeros(1, np.int32), np.zeros(x.size, np.float32)),
)
