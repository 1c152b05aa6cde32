"""The Boston housing data: 13 numbers, scaled by (x - mean) / (max - min), and a price. 404 rows for training, 102 for test."""
import os

__all__ = ["train", "test"]

feature_names = ["CRIM", "ZN", "INDUS", "CHAS", "NOX", "RM", "AGE", "DIS", "RAD", "TAX", "PTRATIO", "B", "LSTAT",
                 "convert"]
UCI_TRAIN_DATA = None
UCI_TEST_DATA = None


def load_data(filename, feature_num=14, ratio=0.8):
    global UCI_TRAIN_DATA, UCI_TEST_DATA
    if UCI_TRAIN_DATA is not None and UCI_TEST_DATA is not None:
        return
    import numpy
    data = numpy.fromfile(filename, sep=" ")
    data = data.reshape(data.shape[0] // feature_num, feature_num)
    maximums, minimums, avgs = data.max(axis=0), data.min(axis=0), data.sum(axis=0) / data.shape[0]
    for i in range(feature_num - 1):
        data[:, i] = (data[:, i] - avgs[i]) / (maximums[i] - minimums[i])
    offset = int(data.shape[0] * ratio)
    UCI_TRAIN_DATA = data[:offset]
    UCI_TEST_DATA = data[offset:]


def _load():
    load_data(os.path.join(os.path.dirname(os.path.abspath(__file__)), "housing.data"))


def train():
    """A reader of (13 numbers, price)."""
    _load()

    def reader():
        for row in UCI_TRAIN_DATA:
            yield row[:-1], row[-1:]

    return reader


def test():
    """A reader of (13 numbers, price)."""
    _load()

    def reader():
        for row in UCI_TEST_DATA:
            yield row[:-1], row[-1:]

    return reader
