# verdict: pass
# The factor has a type, so nothing is computed in 64 bits.
TWO = np.float32(2)


@cuda.jit
def double(x, out):
    """Write 2 * x into out, one thread per element."""
    i = cuda.grid(1)

    if i < out.size:
        out[i] = TWO * x[i]
