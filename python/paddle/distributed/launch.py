"""python -m paddle.distributed.launch ... train.py: the same as fleetrun."""
import sys

from paddle.distributed._exec import launch


def main():
    launch(sys.argv[1:])


if __name__ == "__main__":
    main()
