"""Small colour images: (3072 floats in [0, 1], label), from the tar files in DATA_HOME/cifar."""
import pickle
import tarfile

from paddle.dataset import common

__all__ = ["train100", "test100", "train10", "test10"]


def reader_creator(filename, sub_name, cycle=False):
    def read_once():
        import numpy
        with tarfile.open(filename, mode="r") as archive:
            for name in sorted(item.name for item in archive if sub_name in item.name):
                batch = pickle.load(archive.extractfile(name), encoding="bytes")
                labels = batch.get(b"labels", batch.get(b"fine_labels"))
                if labels is None:
                    raise ValueError("%s in %s has no labels" % (name, filename))
                for image, label in zip(batch[b"data"], labels):
                    yield (numpy.asarray(image) / 255.0).astype("float32"), int(label)

    def reader():
        while True:
            for row in read_once():
                yield row
            if not cycle:
                return

    return reader


def train100():
    return reader_creator(common.local_file("cifar", "cifar-100-python.tar.gz"), "train")


def test100():
    return reader_creator(common.local_file("cifar", "cifar-100-python.tar.gz"), "test")


def train10(cycle=False):
    return reader_creator(common.local_file("cifar", "cifar-10-python.tar.gz"), "data_batch", cycle)


def test10(cycle=False):
    return reader_creator(common.local_file("cifar", "cifar-10-python.tar.gz"), "test_batch", cycle)
