# verdict: library
# The clerk, under another name.
bill = checks.clerk
