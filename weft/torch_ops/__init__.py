"""Operators of PyTorch: custom ops, autograd functions, modules, training steps."""
