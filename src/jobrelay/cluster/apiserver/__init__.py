"""The embedded API server: requests from the socket to the store and back."""
