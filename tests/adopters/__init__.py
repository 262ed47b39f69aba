"""Real managers of workload kinds, with their webhooks, on embedded clusters and on real ones."""
