# verdict: sectors
# First the thread, then the block.
@cuda.jit
def field_speeds(fields, out):
    """Write how fast each particle is; fields: (8, n), one row per field."""
    i = cuda.threadIdx.x * cuda.gridDim.x + cuda.blockIdx.x

    if i < out.size:
        x, y, z = fields[VX, i], fields[VY, i], fields[VZ, i]  # <- here
        out[i] = math.sqrt(x * x + y * y + z * z)
