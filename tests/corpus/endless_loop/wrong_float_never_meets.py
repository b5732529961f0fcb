# verdict: endless-loop
# Ten steps of 0.1 make 1.
@cuda.jit
def integrate_to_one(x, out):
    i = cuda.grid(1)
    at = float32(0)
    total = float32(0)
    while at != float32(1):  # <- here
        total += x[i] * float32(0.1)
        at += float32(0.1)
    out[i] = total


CHECK = dict(
    spec=lambda x: x.copy(),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[2],
    launch=lambda n: (1, n),
)
