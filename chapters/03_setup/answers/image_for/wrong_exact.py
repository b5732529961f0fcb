# verdict: answer
# Machine code is for one GPU.
def image_for(capability, images):
    """Return the image that a GPU of this capability uses, or "no image"."""
    for image in images:
        kind, made_for, only = parts(image)
        if made_for == capability:
            return image
    fits = [i for i in images if parts(i)[0] == "compute" and parts(i)[1] < capability]
    return max(fits, key=parts) if fits else "no image"
