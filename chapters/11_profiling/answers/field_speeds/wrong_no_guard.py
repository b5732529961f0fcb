# verdict: out-of-bounds
# One thread for each particle.
@cuda.jit
def field_speeds(fields, out):
    """Write how fast each particle is; fields: (8, n), one row per field."""
    i = cuda.grid(1)
    x, y, z = fields[VX, i], fields[VY, i], fields[VZ, i]  # <- here
    out[i] = math.sqrt(x * x + y * y + z * z)
