"""python -m paddle.distributed.launch ... train.py: the same as fleetrun and `skiff launch`."""
import sys

from skiff._command import become


def main():
    become(["launch"] + sys.argv[1:])


if __name__ == "__main__":
    main()
