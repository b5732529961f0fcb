"""The record of a launch: every access, and which happened before which."""
