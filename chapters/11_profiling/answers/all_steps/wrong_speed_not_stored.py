# verdict: unwritten
# What is wanted is the place.
@cuda.jit
def all_steps(x, v, steps, x_out, v_out):
    """Move each spring on by many steps of time."""
    i = cuda.grid(1)

    if i < x.size:
        place, speed = x[i], v[i]
        for _ in range(steps):
            speed -= DT * place
            place += DT * speed
        x_out[i] = place
