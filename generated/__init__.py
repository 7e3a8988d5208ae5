"""Kernels built by tilegen."""
