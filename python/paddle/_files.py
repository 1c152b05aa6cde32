"""Functions of os for paths, also for those of other machines (s3://, hdfs:/, afs:/ ...: docs/guide/storage.md)."""
import io
import os

from skiff import _native


def _remote(path):
    return _native.fs_is_remote(os.fspath(path))


def exists(path):
    return _native.fs_look(os.fspath(path)) is not None if _remote(path) else os.path.exists(path)


def isdir(path):
    found = _native.fs_look(os.fspath(path)) if _remote(path) else None
    return found is not None and found[0] or not _remote(path) and os.path.isdir(path)


def isfile(path):
    found = _native.fs_look(os.fspath(path)) if _remote(path) else None
    return found is not None and not found[0] or not _remote(path) and os.path.isfile(path)


def makedirs(path):
    """On other machines folders come with their files."""
    if path and not _remote(path):
        os.makedirs(path, exist_ok=True)


def listdir(path):
    if not _remote(path or "."):
        return os.listdir(path or ".")
    return [os.path.basename(entry[0]) for entry in _native.fs_list(os.fspath(path))]


def walk(folder, below=""):
    """Files in the folder and below, relative to it; folders of saves that are being written are left out."""
    for name in sorted(listdir(os.path.join(folder, below))):
        path = os.path.join(below, name)
        if isdir(os.path.join(folder, path)):
            if ".skiff-" not in name:
                yield from walk(folder, path)
        else:
            yield path


def beside(path):
    """A folder for what is about to become the file PATH; None: any."""
    return None if _remote(path) else os.path.dirname(path) or "."


def move(source, path):
    """Moves a file of this machine to PATH: completely, or not at all."""
    _native.fs_copy(source, path) if _remote(path) else os.replace(source, path)


def open_read(path):
    """The file, to be read."""
    return io.BytesIO(_native.fs_read(os.fspath(path))) if _remote(path) else open(path, "rb")


def write(path, content):
    """A file of these bytes."""
    if _remote(path):
        return _native.fs_write(os.fspath(path), content)
    with open(path, "wb") as out:
        out.write(content)


def remove(path):
    """The file is gone."""
    _native.fs_remove(os.fspath(path)) if _remote(path) else os.remove(path)
