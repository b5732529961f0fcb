"""The steps of install.py. Standard library only."""


class Stop(Exception):
    """Something only the person at the keyboard can fix; the text says how."""
