"""paddle.version."""
full_version = "1.8.5"
major, minor, patch, rc = "1", "8", "5", "0"
istaged = True
commit = "skiff"
with_mkl = "ON"


def show():
    print("full_version:", full_version)
    print("commit:", commit)


def mkl():
    return with_mkl
