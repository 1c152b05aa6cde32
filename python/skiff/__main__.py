"""python -m skiff ...: the command `skiff`, with this Python."""
import sys

from skiff._command import become

if __name__ == "__main__":
    become(sys.argv[1:])
