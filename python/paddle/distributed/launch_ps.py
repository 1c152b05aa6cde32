"""python -m paddle.distributed.launch_ps --worker_num 2 --server_num 2 train.py: workers and servers on this machine."""
import sys

from skiff._command import become


def main():
    become(["launch-ps"] + sys.argv[1:])


if __name__ == "__main__":
    main()
