"""Folders of data files. Unlike Paddle, nothing is downloaded: the error of a missing file names its path."""
import glob
import hashlib
import os
import pickle

__all__ = ["DATA_HOME", "download", "md5file", "split", "cluster_files_reader"]

DATA_HOME = os.environ.get("PADDLE_DATASET_HOME") or os.path.expanduser("~/.cache/paddle/dataset")


def md5file(fname):
    digest = hashlib.md5()
    with open(fname, "rb") as file:
        for chunk in iter(lambda: file.read(1 << 16), b""):
            digest.update(chunk)
    return digest.hexdigest()


def local_file(folder, name):
    """The path of a data file, or an error with the path to put it at."""
    path = os.path.join(DATA_HOME, folder, name)
    if not os.path.isfile(path):
        raise RuntimeError("data file %s not found: put %s there (Skiff downloads nothing)" % (path, name))
    return path


def download(url, module_name, md5sum, save_name=None):
    """The local copy of url; md5sum None: not checked."""
    path = local_file(module_name, save_name or url.split("/")[-1])
    if md5sum and md5file(path) != md5sum:
        raise RuntimeError("data file %s has the md5 sum %s, not %s" % (path, md5file(path), md5sum))
    return path


def split(reader, line_count, suffix="%05d.pickle", dumper=pickle.dump):
    """Writes the samples of a reader to files of line_count samples each."""
    if not callable(dumper):
        raise TypeError("dumper should be callable.")
    rows, number = [], 0
    for row in reader():
        rows.append(row)
        if len(rows) == line_count:
            with open(suffix % number, "wb") as file:
                dumper(rows, file)
            rows, number = [], number + 1
    if rows:
        with open(suffix % number, "wb") as file:
            dumper(rows, file)


def cluster_files_reader(files_pattern, trainer_count, trainer_id, loader=pickle.load):
    """The samples of every trainer_count-th file, beginning with trainer_id."""

    def reader():
        if not callable(loader):
            raise TypeError("loader should be callable.")
        for number, name in enumerate(sorted(glob.glob(files_pattern))):
            if number % trainer_count != trainer_id:
                continue
            with open(name, "rb") as file:
                for row in loader(file):
                    yield row

    return reader
