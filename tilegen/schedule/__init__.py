"""Tile sizes and autotune spaces, from each GPU's budgets."""
