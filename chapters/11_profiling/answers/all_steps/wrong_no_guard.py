# verdict: out-of-bounds
# There are as many threads as springs.
@cuda.jit
def all_steps(x, v, steps, x_out, v_out):
    """Advance each spring by many time steps."""
    i = cuda.grid(1)

    place, speed = x[i], v[i]  # <- here
    for _ in range(steps):
        speed -= DT * place
        place += DT * speed
    x_out[i], v_out[i] = place, speed
