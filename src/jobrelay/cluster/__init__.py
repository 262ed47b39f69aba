"""The embedded cluster: an API server with its store, and later its controllers and node, in one process."""
