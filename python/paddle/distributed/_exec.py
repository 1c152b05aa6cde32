"""Finds the command `skiff` and becomes it."""
import os
import shutil
import sys


def skiff_command():
    """$SKIFF, the command beside this package (build/skiff), or the one on the PATH."""
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    for path in (os.environ.get("SKIFF"), os.path.join(os.path.dirname(here), "skiff"), shutil.which("skiff")):
        if path and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise SystemExit("the command skiff was not found: set SKIFF to its path, or put it on the PATH")


def launch(arguments):
    """skiff launch; the scripts run with this Python and this package."""
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    paths = os.environ.get("PYTHONPATH", "")
    if here not in paths.split(os.pathsep):
        os.environ["PYTHONPATH"] = here + (os.pathsep + paths if paths else "")
    os.environ.setdefault("SKIFF_PYTHON", sys.executable)
    command = skiff_command()
    sys.stdout.flush()
    os.execv(command, [command, "launch"] + arguments)
