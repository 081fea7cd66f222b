class Future:
    def set_result(self, result):
        self.result = result

    def wait(self):
        return self.result
