# verdict: pass
# In place, but no thread reads an element that another thread owns.
@cuda.jit
def double_in_place(n, out):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        out[i] *= 2
        out[i] += 1


CHECK = dict(
    spec=lambda n: 2 * np.arange(n, dtype=np.int32) + 1,
    inputs=lambda rng, n: n,
    sizes=[1, 300],
    launch=lambda n: (2, 64),
    out=lambda n: np.arange(n, dtype=np.int32),
)
