# verdict: library
# in_python was right, so I use it.
prepare = in_python
