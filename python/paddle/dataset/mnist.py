"""Handwritten digits: (784 floats in [-1, 1], label), from the four idx files in DATA_HOME/mnist."""
import gzip
import struct

from paddle.dataset import common

__all__ = ["train", "test"]


def reader_creator(image_filename, label_filename, buffer_size=100):
    """A reader of the rows of an idx image file and an idx label file, both .gz."""

    def reader():
        import numpy
        with gzip.open(image_filename) as images, gzip.open(label_filename) as labels:
            magic, count, rows, columns = struct.unpack(">IIII", images.read(16))
            if magic != 2051:
                raise ValueError("%s is no idx file of images" % image_filename)
            magic, label_count = struct.unpack(">II", labels.read(8))
            if magic != 2049 or label_count != count:
                raise ValueError("%s is no idx file of %d labels" % (label_filename, count))
            for _ in range(count):
                image = numpy.frombuffer(images.read(rows * columns), "uint8").astype("float32")
                yield image / 255.0 * 2.0 - 1.0, labels.read(1)[0]

    return reader


def train():
    return reader_creator(common.local_file("mnist", "train-images-idx3-ubyte.gz"),
                          common.local_file("mnist", "train-labels-idx1-ubyte.gz"), 100)


def test():
    return reader_creator(common.local_file("mnist", "t10k-images-idx3-ubyte.gz"),
                          common.local_file("mnist", "t10k-labels-idx1-ubyte.gz"), 100)
