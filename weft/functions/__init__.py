"""Exercises in plain Python: a function is judged by the values it returns."""
