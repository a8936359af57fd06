"""A whole matrix product on the road that a kernel takes."""
