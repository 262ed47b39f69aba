"""Workers as operators handle them: registering them, and running a whole fleet of embedded clusters on one machine."""
