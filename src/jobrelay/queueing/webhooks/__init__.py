"""What happens to queues and queued objects when they are written: defaults and checks, with Kueue's texts.

The checks are pure functions from the new object, and the old one if there is one, to field errors. `reviews` finds the
ones that a request is about and answers it, `serving` adds that to the relay's TLS listener, and `registration` tells
the API server. Nothing is imported here, since most commands need none of it.
"""
