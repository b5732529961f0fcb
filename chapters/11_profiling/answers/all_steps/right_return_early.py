# verdict: pass
# Leave early, count with while.
@cuda.jit
def all_steps(x, v, steps, x_out, v_out):
    """Move each spring on by many steps of time."""
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
