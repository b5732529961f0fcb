# verdict: wrong-value
# Compute both from the state before the step.
@cuda.jit
def all_steps(x, v, steps, x_out, v_out):
    """Advance each spring by many time steps."""
    i = cuda.grid(1)

    if i < x.size:
        place, speed = x[i], v[i]
        for _ in range(steps):
            place, speed = place + DT * speed, speed - DT * place
        x_out[i], v_out[i] = place, speed  # <- here
