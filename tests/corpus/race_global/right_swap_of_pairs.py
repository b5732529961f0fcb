# verdict: pass
# One thread owns both elements of a pair and may exchange them in place.
@cuda.jit
def swap_pairs_in_place(n, out):
    i = 2 * cuda.grid(1)
    if i + 1 < n:
        out[i], out[i + 1] = out[i + 1], out[i]


CHECK = dict(
    spec=lambda n: np.arange(n, dtype=np.int32) ^ 1,
    inputs=lambda rng, n: n,
    sizes=[2, 300],
    launch=lambda n: (-(-n // 128), 64),
    out=lambda n: np.arange(n, dtype=np.int32),
)
