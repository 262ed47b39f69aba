"""What is registered with a server for admission: parsed once for each change, and followed by the store's commits."""
