"""Exam sheets from the wrong kernels of the labs: another one for each student."""
