"""Layers that hold their weights in a product's layout, and models made of them."""
