"""Custom resources: the CustomResourceDefinition kind, and what its schemas mean for the objects of its kind."""
