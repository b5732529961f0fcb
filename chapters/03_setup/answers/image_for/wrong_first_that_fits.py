# verdict: answer
# Take the first in the list that fits.
def image_for(capability, images):
    """Return the image that a GPU of this capability uses, or "no image"."""
    for wanted in ("sm", "compute"):
        for image in images:
            kind, made_for, only = parts(image)
            if kind != wanted or made_for > capability:
                continue
            if only and made_for != capability:
                continue
            if kind == "compute" or made_for[0] == capability[0]:
                return image  # <- here
    return "no image"
