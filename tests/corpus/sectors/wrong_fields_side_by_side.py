# verdict: sectors
# x, y and z of a point belong together, so they are stored together.
@cuda.jit
def lengths_of_points(points, out):
    i = cuda.grid(1)
    if i < out.size:
        x, y, z = points[i, 0], points[i, 1], points[i, 2]  # <- here
        out[i] = math.sqrt(x * x + y * y + z * z)


CHECK = dict(
    spec=lambda points: np.sqrt((points * points).sum(axis=1)),
    inputs=lambda rng, n: rng.random((n, 3), np.float32),
    sizes=[128],
    launch=lambda n: (n // 64, 64),
    limits={"sectors": 4},
)
