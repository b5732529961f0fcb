# verdict: answer
# Leave the scale of the tensor out; but then blocks saturate or vanish.
def nvfp4_scales(values):
    """Return (scale of the tensor, scales of its blocks)."""

    scales = []
    for start in range(0, len(values), 16):
        most = max(abs(x) for x in values[start : start + 16])
        scales.append(formats.e4m3(most / 6))
    return 1.0, tuple(scales)  # <- here
