backends = {}


def register_collective_backend(name, group):
    backends[name] = group
