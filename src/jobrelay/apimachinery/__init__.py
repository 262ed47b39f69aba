"""What is true of any kind: decoding, Go's JSON, times, names, selectors, patches, apply, CEL. No I/O."""
