# verdict: wrong-value
# Each step reads the arrays, as one_step did.
@cuda.jit
def all_steps(x, v, steps, x_out, v_out):
    """Advance each spring by many time steps."""
    i = cuda.grid(1)

    if i < x.size:
        for _ in range(steps):
            speed = v[i] - DT * x[i]
            place = x[i] + DT * speed
        x_out[i], v_out[i] = place, speed  # <- here
