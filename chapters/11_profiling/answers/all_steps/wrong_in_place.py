# verdict: input-written
# The input is not needed any more.
@cuda.jit
def all_steps(x, v, steps, x_out, v_out):
    """Advance each spring by many time steps."""
    i = cuda.grid(1)

    if i < x.size:
        for _ in range(steps):
            v[i] -= DT * x[i]  # <- here
            x[i] += DT * v[i]
        x_out[i], v_out[i] = x[i], v[i]
