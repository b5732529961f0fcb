# verdict: pass
# Sort the images, best first, and take the first that fits.
def image_for(capability, images):
    """Return the image that a GPU of this capability uses, or "no image"."""

    def fits(image):
        kind, made_for, only = parts(image)
        if only:
            return made_for == capability
        if kind == "sm" and made_for[0] != capability[0]:
            return False
        return made_for <= capability

    def rank(image):
        kind, made_for, _ = parts(image)
        return kind == "sm", made_for

    for image in sorted(images, key=rank, reverse=True):
        if fits(image):
            return image
    return "no image"
