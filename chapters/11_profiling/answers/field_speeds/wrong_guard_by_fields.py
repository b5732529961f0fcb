# verdict: unwritten
# The length of fields is the number of particles.
@cuda.jit
def field_speeds(fields, out):
    """Write how fast each particle is; fields: (8, n), one row per field."""
    i = cuda.grid(1)

    if i < fields.shape[0]:
        x, y, z = fields[VX, i], fields[VY, i], fields[VZ, i]
        out[i] = math.sqrt(x * x + y * y + z * z)
