# verdict: answer
# Newer GPUs run older code.
def image_for(capability, images):
    """Return the image that a GPU of this capability uses, or "no image"."""
    code, ptx = [], []
    for image in images:
        kind, made_for, only = parts(image)
        if (only and made_for != capability) or made_for > capability:
            continue
        (ptx if kind == "compute" else code).append((made_for, image))
    found = code or ptx
    return max(found)[1] if found else "no image"  # <- here
