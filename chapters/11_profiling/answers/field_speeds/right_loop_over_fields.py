# verdict: pass
# A loop over the three fields.
@cuda.jit
def field_speeds(fields, out):
    """Write how fast each particle is; fields: (8, n), one row per field."""
    i = cuda.grid(1)
    if i >= out.size:
        return
    total = float32(0)
    for field in range(VX, VZ + 1):
        total += fields[field, i] * fields[field, i]
    out[i] = math.sqrt(total)
