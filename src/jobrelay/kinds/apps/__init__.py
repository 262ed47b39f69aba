"""apps/v1: the controllers' own kinds, and the scale view on them."""
