"""The comparison lane: the same requests to a real API server and to ours, answers held side by side."""
