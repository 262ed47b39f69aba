"""apiextensions.k8s.io: CustomResourceDefinitions, and the validation and defaulting of custom resources."""
