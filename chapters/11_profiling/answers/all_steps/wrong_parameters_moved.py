# verdict: arguments
# Arrays first, then numbers.
@cuda.jit
def all_steps(x, v, x_out, v_out, steps):  # <- here
    """Move each spring on by many steps of time."""
    i = cuda.grid(1)

    if i < x.size:
        place, speed = x[i], v[i]
        for _ in range(steps):
            speed -= DT * place
            place += DT * speed
        x_out[i], v_out[i] = place, speed
