"""Programs that others wrote, at work on the embedded cluster: kubectl, the official Python client, client-go."""
