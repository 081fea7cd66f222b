_store = {}


def _internal_kv_put(key, value, overwrite=True):
    _store[key] = value


def _internal_kv_get(key):
    return _store.get(key)
