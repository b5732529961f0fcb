# verdict: loads
# Keep the state in the output arrays.
@cuda.jit
def all_steps(x, v, steps, x_out, v_out):
    """Advance each spring by many time steps."""
    i = cuda.grid(1)

    if i < x.size:
        x_out[i], v_out[i] = x[i], v[i]
        for _ in range(steps):
            v_out[i] -= DT * x_out[i]  # <- here
            x_out[i] += DT * v_out[i]
