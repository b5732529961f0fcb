# verdict: arguments
# The arrays come first, then the numbers.
@cuda.jit
def all_steps(x, v, x_out, v_out, steps):  # <- here
    """Advance each spring by many time steps."""
    i = cuda.grid(1)

    if i < x.size:
        place, speed = x[i], v[i]
        for _ in range(steps):
            speed -= DT * place
            place += DT * speed
        x_out[i], v_out[i] = place, speed
