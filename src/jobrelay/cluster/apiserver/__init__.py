"""The embedded API server: the way of a request, from the socket to the store and back."""
