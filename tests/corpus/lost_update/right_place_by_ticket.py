# verdict: pass
# The atomic addition gives each thread its own place.
@cuda.jit
def place_by_ticket(x, count, out):
    i = cuda.grid(1)
    if i < x.size:
        place = cuda.atomic.add(count, 0, 1)
        out[place] = 7


CHECK = dict(
    spec=lambda x: (np.array([x.size], np.int32), np.full(x.size, 7, np.int32)),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[1, 100],
    launch=lambda n: (-(-n // 64), 64),
    out=lambda x: (np.zeros(1, np.int32), np.zeros(x.size, np.int32)),
)
