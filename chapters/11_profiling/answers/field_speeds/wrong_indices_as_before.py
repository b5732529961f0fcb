# verdict: out-of-bounds
# The indices were right before.
@cuda.jit
def field_speeds(fields, out):
    """Write how fast each particle is; fields: (8, n), one row per field."""
    i = cuda.grid(1)

    if i < out.size:
        x, y, z = fields[i, VX], fields[i, VY], fields[i, VZ]  # <- here
        out[i] = math.sqrt(x * x + y * y + z * z)
