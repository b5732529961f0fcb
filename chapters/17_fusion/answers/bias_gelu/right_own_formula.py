# verdict: pass
# Write GELU out, with numbers that stay float32.
@cuda.jit
def bias_gelu(x, bias, out):
    """Write the GELU of x + bias into out, four columns per thread."""
    row, col = cuda.blockIdx.y, 4 * cuda.grid(1)

    if col < x.shape[1]:
        v = load4(x, (row, col))
        w = load4(bias, col)
        kept = cuda.local.array(4, float32)
        for j in range(4):
            z = v[j] + w[j]
            kept[j] = z * (float32(0.5) + float32(0.5) * math.erf(z * float32(0.70710678)))
        store4(out, (row, col), kept[0], kept[1], kept[2], kept[3])
