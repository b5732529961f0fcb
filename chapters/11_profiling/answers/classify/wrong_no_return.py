# verdict: wrong-value
# The value of the last line is the result.
def classify(program):
    """Return what a program waits for."""
    classes = {"springs": "launch", "speeds": "memory"}
    classes.get(program)
