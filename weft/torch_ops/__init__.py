"""Checks of PyTorch code: operators, autograd functions, modules, training steps."""
