"""A stand-in for Ray 2.60: the parts that `p4rack.ray` uses. Threads are actors."""
