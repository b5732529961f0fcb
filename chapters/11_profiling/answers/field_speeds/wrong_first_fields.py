# verdict: wrong-value
# The velocity is in the first three fields.
@cuda.jit
def field_speeds(fields, out):
    """Write how fast each particle is; fields: (8, n), one row per field."""
    i = cuda.grid(1)

    if i < out.size:
        x, y, z = fields[0, i], fields[1, i], fields[2, i]
        out[i] = math.sqrt(x * x + y * y + z * z)  # <- here
