# verdict: pass
# Return early, and count with while.
@cuda.jit
def all_steps(x, v, steps, x_out, v_out):
    """Advance each spring by many time steps."""
    i = cuda.grid(1)

    if i >= x.size:
        return
    a = x[i]
    b = v[i]
    k = 0
    while k < steps:
        b = b - DT * a
        a = a + DT * b
        k += 1
    x_out[i] = a
    v_out[i] = b
