# verdict: answer
# Round the scales to powers of two, as MX does.
def nvfp4_scales(values):
    """Return (scale of the tensor, scales of its blocks)."""

    tensor = formats.float32(max(abs(x) for x in values) / (6 * 448))
    scales = []
    for start in range(0, len(values), 16):
        most = max(abs(x) for x in values[start : start + 16])
        scale = most / 6 / tensor
        scales.append(2.0 ** math.floor(math.log2(scale)) if scale else 0.0)
    return tensor, tuple(scales)  # <- here
