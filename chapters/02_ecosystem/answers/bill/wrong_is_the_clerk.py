# verdict: library
# My function is the clerk, under another name.
bill = checks.clerk
