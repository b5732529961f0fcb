# verdict: sectors
# A record holds what belongs together: position, speed and mass.
@cuda.jit
def masses_of_records(bodies, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = bodies[i].mass  # <- here


CHECK = dict(
    spec=lambda bodies: bodies["mass"].copy(),
    inputs=lambda rng, n: rng.random(3 * n, np.float32).view(
        [("x", "f4"), ("speed", "f4"), ("mass", "f4")]
    ),
    sizes=[128],
    launch=lambda n: (n // 64, 64),
    limits={"sectors": 4},
)
