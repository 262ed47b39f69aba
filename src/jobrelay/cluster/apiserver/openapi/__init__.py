"""The published OpenAPI documents: what `kubectl explain` reads and what clients look up before they write.

Nothing here is loaded or built before the first request. `definitions` reads the schemas of the built-in kinds,
`operations` derives the requests from the table of resources, `rendering` writes them in version 2 or 3, `documents`
joins both, `gnostic` encodes them in protobuf, `cache` keeps what was built (compressed, shared by all clusters of a
process), and `answers` serves it.
"""
