"""Exam sheets of the labs' wrong kernels, with other questions for each student."""
