# verdict: library
# The function that was right.
prepare = in_python
