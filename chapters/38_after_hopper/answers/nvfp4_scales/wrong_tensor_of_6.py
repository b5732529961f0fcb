# verdict: answer
# Scale the tensor for e2m1 alone; but the scales of blocks are then at most 1.
def nvfp4_scales(values):
    """Return (scale of the tensor, scales of its blocks)."""

    tensor = formats.float32(max(abs(x) for x in values) / 6)
    scales = []
    for start in range(0, len(values), 16):
        most = max(abs(x) for x in values[start : start + 16])
        scales.append(formats.e4m3(most / 6 / tensor))
    return tensor, tuple(scales)  # <- here
