"""`NZConv2d`: a convolution with its weight in FRACTAL_Z."""
