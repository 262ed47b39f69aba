"""The kinds of admissionregistration.k8s.io."""
