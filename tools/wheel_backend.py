"""Builds the wheel of the Python packages (PEP 517): `pip install .`, without any package but pip itself.

make builds the native module; the wheel holds build/python and the command skiff (also as fleetrun). The module keeps to the stable
ABI, so one wheel serves every Python from 3.9 on. What it needs at run time beyond Python are Debian's libraries
(libdnnl2, libprotobuf-c1, libzmq5, ...: tools/setup installs them) and numpy."""
import base64
import hashlib
import os
import re
import subprocess
import sysconfig
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LAUNCHER = '#!/bin/sh\nexec "$(dirname "$0")/skiff" launch "$@"\n'


def _version():
    with open(os.path.join(ROOT, "include/skiff/version.h"), encoding="utf-8") as f:
        return ".".join(re.findall(r"^#define SKIFF_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", f.read(), re.M))


def _metadata(version):
    return ("Metadata-Version: 2.1\nName: skiff\nVersion: %s\nSummary: Trains click-through-rate and recommendation models; runs "
            "programs written for PaddlePaddle's Fluid, Fleet and PaddleRec\nRequires-Python: >=3.9\nRequires-Dist: numpy\n" % version)


def _files():
    """(name in the wheel, path) of every file of the packages."""
    home = os.path.join(ROOT, "build", "python")
    for folder, folders, names in sorted(os.walk(home)):
        folders[:] = sorted(d for d in folders if d != "__pycache__")
        for name in sorted(names):
            path = os.path.join(folder, name)
            inside = os.path.relpath(path, home)
            if os.sep in inside and not name.endswith(".pyc"):
                yield inside, path


def _line(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return "%s,sha256=%s,%d\n" % (name, digest, len(data))


def _put(wheel, record, name, data, mode=0o644):
    info = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
    info.external_attr = (0o100000 | mode) << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    wheel.writestr(info, data)
    record.append(_line(name, data))


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    subprocess.run(["make", "-s", "-j2", "all"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    version = _version()
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    info = "skiff-%s.dist-info" % version
    scripts = "skiff-%s.data/scripts/" % version
    name = "skiff-%s-cp39-abi3-%s.whl" % (version, platform)
    record = []
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w") as wheel:
        for inside, path in _files():
            with open(path, "rb") as f:
                _put(wheel, record, inside, f.read(), 0o755 if path.endswith(".so") else 0o644)
        with open(os.path.join(ROOT, "build", "skiff"), "rb") as f:
            _put(wheel, record, scripts + "skiff", f.read(), 0o755)
        _put(wheel, record, scripts + "fleetrun", LAUNCHER.encode(), 0o755)
        _put(wheel, record, info + "/METADATA", _metadata(version).encode())
        _put(wheel, record, info + "/WHEEL",
             ("Wheel-Version: 1.0\nGenerator: skiff\nRoot-Is-Purelib: false\nTag: cp39-abi3-%s\n" % platform).encode())
        wheel.writestr(info + "/RECORD", "".join(record) + info + "/RECORD,,\n")
    return name


def build_sdist(sdist_directory, config_settings=None):
    """The sources as git has them."""
    name = "skiff-%s.tar.gz" % _version()
    prefix = "skiff-%s/" % _version()
    subprocess.run(["git", "archive", "--format=tar.gz", "--prefix=" + prefix, "-o", os.path.join(sdist_directory, name), "HEAD"],
                   cwd=ROOT, check=True)
    return name
