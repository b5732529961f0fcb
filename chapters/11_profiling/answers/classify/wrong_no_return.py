# verdict: wrong-value
# The last line is the value.
def classify(program):
    """Return what a program waits for."""
    classes = {"springs": "launch", "speeds": "memory"}
    classes.get(program)
