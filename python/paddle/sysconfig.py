"""paddle.sysconfig: where the headers and the library of Skiff lie."""
import os

from paddle import _names


def _folder(inside, found):
    """The folder `inside` (or itself) of the first folder around this package in which `found` is."""
    at = os.path.dirname(os.path.abspath(__file__))
    while at != os.path.dirname(at):
        for folder in [os.path.join(at, name) for name in inside]:
            if os.path.exists(os.path.join(folder, found)):
                return os.path.normpath(folder)
        at = os.path.dirname(at)
    raise RuntimeError("paddle.sysconfig: there is no %s around %s; install Skiff's development files" %
                       (found, os.path.dirname(os.path.abspath(__file__))))


def get_include():
    """The folder of the headers: #include <skiff/...>"""
    return _folder(["include"], os.path.join("skiff", "status.h"))


def get_lib():
    """The folder of libskiff."""
    return _folder([".", "lib", os.path.join("lib", os.uname().machine + "-linux-gnu")], "libskiff.so")


__getattr__ = _names.guard(__name__)
