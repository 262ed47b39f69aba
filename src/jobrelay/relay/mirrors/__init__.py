"""What is done about the mirrors on one worker, each action in a module of its own; `MirrorController` chooses it."""
