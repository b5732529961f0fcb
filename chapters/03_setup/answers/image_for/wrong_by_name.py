# verdict: answer
# The image with the highest name is the best.
def image_for(capability, images):
    """Return the image that a GPU of this capability uses, or "no image"."""
    code, ptx = [], []
    for image in images:
        kind, made_for, only = parts(image)
        if (only and made_for != capability) or made_for > capability:
            continue
        if kind == "compute":
            ptx.append(image)
        elif made_for[0] == capability[0]:
            code.append(image)
    found = code or ptx
    return max(found) if found else "no image"  # <- here
