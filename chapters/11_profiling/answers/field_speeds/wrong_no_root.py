# verdict: wrong-value
# The sum of the squares is the speed.
@cuda.jit
def field_speeds(fields, out):
    """Write how fast each particle is; fields: (8, n), one row per field."""
    i = cuda.grid(1)

    if i < out.size:
        x, y, z = fields[VX, i], fields[VY, i], fields[VZ, i]
        out[i] = x * x + y * y + z * z  # <- here
