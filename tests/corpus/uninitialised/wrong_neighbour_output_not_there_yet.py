# verdict: uninitialised
# Fibonacci, one thread: each number from the two before.
@cuda.jit
def fibonacci_from_nothing(n, out):
    if cuda.grid(1) == 0:
        for i in range(2, n):
            out[i] = out[i - 1] + out[i - 2]  # <- here
        out[0] = 1
        out[1] = 1


CHECK = dict(
    spec=lambda n: np.array([1, 1, 2, 3, 5, 8, 13, 21, 34, 55][:n], np.int32),
    inputs=lambda rng, n: n,
    sizes=[10],
    launch=lambda n: (1, 32),
)
