"""The core group: pods in `pod`, every other kind in a module of its own."""
