# verdict: answer
# Take the highest that fits, of either kind.
def image_for(capability, images):
    """Return the image that a GPU of this capability uses, or "no image"."""
    code, ptx = [], []
    for image in images:
        kind, made_for, only = parts(image)
        if (only and made_for != capability) or made_for > capability:
            continue
        if kind == "compute":
            ptx.append((made_for, image))
        elif made_for[0] == capability[0]:
            code.append((made_for, image))
    found = code + ptx
    return max(found)[1] if found else "no image"  # <- here
