"""paddle.version."""
istaged = True
commit = "skiff"
with_mkl = "ON"
rc = "0"


def __getattr__(name):
    import paddle
    if name == "full_version":
        return paddle.__version__
    if name in ("major", "minor", "patch"):
        return paddle.__version__.split(".")[("major", "minor", "patch").index(name)]
    raise AttributeError("module %r has no attribute %r" % (__name__, name))


def show():
    print("full_version:", __getattr__("full_version"))
    print("commit:", commit)


def mkl():
    return with_mkl


def cuda():
    return "False"


def cudnn():
    return "False"
