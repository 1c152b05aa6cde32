"""Builds the wheel of the Python packages (PEP 517): `pip install .`, without any package but pip itself; `make wheel`.

make builds the native module; the wheel holds $BUILD/python and the command skiff (also as fleetrun). The module keeps to the stable
ABI, so one wheel serves every Python from 3.9 on. What it needs at run time beyond Python and numpy are Debian's libraries
(libdnnl2, libssl3, ...); skiff/_needs.py in the wheel lists them, so that `import skiff` can say which are missing; the
command `skiff` is a script that looks for them before it runs the program."""
import base64
import hashlib
import os
import re
import subprocess
import sysconfig
import tempfile
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build"))
LAUNCHER = '#!/bin/sh\nexec "$(dirname "$0")/skiff" launch "$@"\n'
# the command `skiff`: the loader, asked what it finds, says "libx.so.1 => not found"; it does not know packages
COMMAND = """#!/bin/sh
program=$(dirname "$(readlink -f "$0")")/skiff-program
missing=$(LD_TRACE_LOADED_OBJECTS=1 "$program" | sed -n 's/^[[:space:]]*\\([^ ]*\\) => not found$/\\1/p')
if [ -n "$missing" ]; then
    packages=
    for library in $missing; do
        case $library in
%s        *) package= ;;
        esac
        case " $packages " in *" $package "*) ;; *) packages="$packages $package" ;; esac
    done
    echo "skiff: these libraries are missing:" $missing >&2
    [ -z "$packages" ] || echo "skiff: it needs these Debian packages: apt-get install$packages" >&2
    exit 127
fi
exec "$program" "$@"
"""


def _version():
    with open(os.path.join(ROOT, "include/skiff/version.h"), encoding="utf-8") as f:
        return ".".join(re.findall(r"^#define SKIFF_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", f.read(), re.M))


def _needs():
    """{library: Debian package} of what the module and the command ask for, but the C library."""
    out = subprocess.run([os.path.join(ROOT, "tools/debian-packages"), os.path.join(BUILD, "skiff"),
                          os.path.join(BUILD, "python/skiff/_native.abi3.so")], check=True, capture_output=True, text=True).stdout
    return {line.split()[0]: line.split()[1] for line in out.splitlines() if line.split()[1] != "libc6"}


def _metadata(version, needs):
    return ("Metadata-Version: 2.1\nName: skiff\nVersion: %s\nSummary: Trains click-through-rate and recommendation models; runs "
            "programs written for PaddlePaddle's Fluid, Fleet and PaddleRec\nLicense: Apache-2.0\nLicense-File: LICENSE\n"
            "Requires-Python: >=3.9\nRequires-Dist: numpy\n\n"
            "Debian packages that it needs: %s\n" % (version, " ".join(sorted(set(needs.values())))))


def _files():
    """(name in the wheel, path) of every file of the packages."""
    home = os.path.join(BUILD, "python")
    for folder, folders, names in sorted(os.walk(home)):
        folders[:] = sorted(d for d in folders if d != "__pycache__")
        for name in sorted(names):
            path = os.path.join(folder, name)
            inside = os.path.relpath(path, home)
            if os.sep in inside and not name.endswith(".pyc"):
                yield inside, path


def _stripped(path):
    """The bytes of a program or library without what only debuggers read."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "stripped")
        subprocess.run(["strip", "--strip-unneeded", "-o", out, path], check=True)
        with open(out, "rb") as f:
            return f.read()


def _line(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return "%s,sha256=%s,%d\n" % (name, digest, len(data))


def _put(wheel, record, name, data, mode=0o644):
    info = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
    info.external_attr = (0o100000 | mode) << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    wheel.writestr(info, data)
    record.append(_line(name, data))


def pack(wheel_directory):
    """The wheel of what make has built; returns its path."""
    version, needs = _version(), _needs()
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    info = "skiff-%s.dist-info" % version
    scripts = "skiff-%s.data/scripts/" % version
    path = os.path.join(wheel_directory, "skiff-%s-cp39-abi3-%s.whl" % (version, platform))
    record = []
    with zipfile.ZipFile(path, "w") as wheel:
        for inside, source in _files():
            if source.endswith(".so"):
                _put(wheel, record, inside, _stripped(source), 0o755)
                continue
            with open(source, "rb") as f:
                _put(wheel, record, inside, f.read(), 0o755 if os.access(source, os.X_OK) else 0o644)
        _put(wheel, record, "skiff/_needs.py", ("PACKAGES = %r\n" % needs).encode())
        cases = "".join("        %s) package=%s ;;\n" % need for need in sorted(needs.items()))
        _put(wheel, record, scripts + "skiff", (COMMAND % cases).encode(), 0o755)
        _put(wheel, record, scripts + "skiff-program", _stripped(os.path.join(BUILD, "skiff")), 0o755)
        _put(wheel, record, scripts + "fleetrun", LAUNCHER.encode(), 0o755)
        for name in "LICENSE", "NOTICE":
            with open(os.path.join(ROOT, name), "rb") as f:
                _put(wheel, record, info + "/" + name, f.read())
        _put(wheel, record, info + "/METADATA", _metadata(version, needs).encode())
        _put(wheel, record, info + "/WHEEL",
             ("Wheel-Version: 1.0\nGenerator: skiff\nRoot-Is-Purelib: false\nTag: cp39-abi3-%s\n" % platform).encode())
        wheel.writestr(info + "/RECORD", "".join(record) + info + "/RECORD,,\n")
    return path


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    subprocess.run(["make", "-s", "-j2", "all"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return os.path.basename(pack(wheel_directory))


def build_sdist(sdist_directory, config_settings=None):
    """The sources as git has them."""
    name = "skiff-%s.tar.gz" % _version()
    prefix = "skiff-%s/" % _version()
    subprocess.run(["git", "archive", "--format=tar.gz", "--prefix=" + prefix, "-o", os.path.join(sdist_directory, name), "HEAD"],
                   cwd=ROOT, check=True)
    return name
