# verdict: pass
# All x, then all y, then all z: neighbours read neighbours.
@cuda.jit
def lengths_of_columns(points, out):
    i = cuda.grid(1)
    if i < out.size:
        x, y, z = points[0, i], points[1, i], points[2, i]
        out[i] = math.sqrt(x * x + y * y + z * z)


CHECK = dict(
    spec=lambda points: np.sqrt((points * points).sum(axis=0)),
    inputs=lambda rng, n: rng.random((3, n), np.float32),
    sizes=[128],
    launch=lambda n: (n // 64, 64),
    limits={"sectors": 4},
)
