# verdict: answer
# PTX runs on more than one GPU, so no PTX name ends in a.
def image_for(capability, images):
    """Return the image that a GPU of this capability uses, or "no image"."""
    code, ptx = [], []
    for image in images:
        kind, made_for, only = parts(image)
        if (only and made_for != capability) or made_for > capability:
            continue
        if kind == "compute" and not only:
            ptx.append((made_for, image))
        elif kind == "sm" and made_for[0] == capability[0]:
            code.append((made_for, image))
    found = code or ptx
    return max(found)[1] if found else "no image"  # <- here
