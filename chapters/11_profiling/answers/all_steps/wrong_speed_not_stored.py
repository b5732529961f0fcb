# verdict: unwritten
# Only the place is wanted.
@cuda.jit
def all_steps(x, v, steps, x_out, v_out):
    """Advance each spring by many time steps."""
    i = cuda.grid(1)

    if i < x.size:
        place, speed = x[i], v[i]
        for _ in range(steps):
            speed -= DT * place
            place += DT * speed
        x_out[i] = place
