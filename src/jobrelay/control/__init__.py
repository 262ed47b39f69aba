"""Running reconcilers: work queue, controllers, and the manager that owns their lifetimes."""
