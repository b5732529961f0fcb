# verdict: answer
# Replace a scale of 0 by 1, to avoid dividing by it.
def nvfp4_scales(values):
    """Return (scale of the tensor, scales of its blocks)."""

    tensor = formats.float32(max(abs(x) for x in values) / (6 * 448))
    scales = []
    for start in range(0, len(values), 16):
        most = max(abs(x) for x in values[start : start + 16])
        scales.append(formats.e4m3(most / 6 / tensor) or 1.0)
    return tensor, tuple(scales)  # <- here
