"""Why the native module cannot be loaded: the shared libraries it needs are Debian's, and pip does not install them."""
import ctypes


def _is_missing(library):
    try:
        ctypes.CDLL(library)
    except OSError:
        return True
    return False


def explained(error):
    """The ImportError with the names of the packages that are missing; itself when there are none."""
    try:
        from skiff._needs import PACKAGES  # {library: package}, made with the wheel
    except ImportError:
        return error
    packages = sorted({package for library, package in PACKAGES.items() if _is_missing(library)})
    if not packages:
        return error
    return ImportError("%s. Skiff needs these Debian packages: apt-get install %s" % (error, " ".join(packages)))
