class Work:
    def __init__(self):
        pass
