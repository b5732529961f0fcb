# verdict: wrong-value
# In a tie, prefer an even value instead of an even code.
def e2m1(x):
    """Return the code, 0 to 15, of the number of e2m1 that is nearest to x."""

    magnitudes = formats.E2M1[:8]
    code = min(range(8), key=lambda k: (abs(abs(x) - magnitudes[k]), magnitudes[k] % 2))
    return code + 8 if x < 0 else code  # <- here
