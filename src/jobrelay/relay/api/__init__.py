"""The API that the relay serves to ordinary users: `relay.jobrelay.dev/v1`, aggregated into the management cluster's.

Users reach it with the kubeconfig that they have, through the API server of the management cluster, which finds out
who they are and asks RBAC. The relay believes what the API server says about a caller because of its front proxy
certificate, asks once more whether the caller may see the *original* itself, and reads workers as itself.

`serving.ApiServing` serves it. Nothing is imported here, since commands need only its names.
"""
