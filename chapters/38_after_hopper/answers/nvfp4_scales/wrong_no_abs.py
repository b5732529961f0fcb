# verdict: answer
# Take the largest number instead of the largest magnitude.
def nvfp4_scales(values):
    """Return (scale of the tensor, scales of its blocks)."""

    tensor = formats.float32(max(values) / (6 * 448))
    scales = []
    for start in range(0, len(values), 16):
        most = max(values[start : start + 16])
        scales.append(formats.e4m3(most / 6 / tensor))
    return tensor, tuple(scales)  # <- here
