class BaseGroup:
    def __init__(self, world_size, rank, group_name):
        self._world_size, self._rank, self._group_name = world_size, rank, group_name

    rank = property(lambda self: self._rank)
    world_size = property(lambda self: self._world_size)
    group_name = property(lambda self: self._group_name)
