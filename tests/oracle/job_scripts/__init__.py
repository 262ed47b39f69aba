"""Scripts of what happens to Jobs and pods, played to a real control plane and to ours."""
