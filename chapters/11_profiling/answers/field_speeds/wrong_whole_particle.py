# verdict: loads
# Load the whole particle first.
@cuda.jit
def field_speeds(fields, out):
    """Write how fast each particle is; fields: (8, n), one row per field."""
    i = cuda.grid(1)
    row = cuda.local.array(8, float32)

    if i < out.size:
        for field in range(8):
            row[field] = fields[field, i]  # <- here
        x, y, z = row[VX], row[VY], row[VZ]
        out[i] = math.sqrt(x * x + y * y + z * z)
