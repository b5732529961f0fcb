# verdict: answer
# Return what to multiply by when encoding, not when decoding.
def nvfp4_scales(values):
    """Return (scale of the tensor, scales of its blocks)."""

    tensor = formats.float32(6 * 448 / max(abs(x) for x in values))
    scales = []
    for start in range(0, len(values), 16):
        most = max(abs(x) for x in values[start : start + 16])
        scales.append(formats.e4m3(most / 6 * tensor))
    return tensor, tuple(scales)  # <- here
