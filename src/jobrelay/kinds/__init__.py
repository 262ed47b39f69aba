"""What Kubernetes objects mean: types, defaults, validation, status rules, selectors, patches. Pure functions, no I/O."""
