"""python -m paddle.distributed.launch_ps --worker_num 2 --server_num 2 train.py: workers and servers on this machine."""
import sys

from paddle.distributed._exec import launch


def main():
    arguments = sys.argv[1:]
    # the defaults of launch_ps: two of each, ports from 6170, logs in ./logs
    def has(*names):
        return any(a == name or a.startswith(name + "=") for a in arguments for name in names)

    defaults = []
    if not has("--worker_num", "--workers", "--cluster_node_ips", "--help", "-h"):
        defaults += ["--worker_num", "2"]
    if not has("--server_num", "--servers", "--endpoints", "--help", "-h"):
        defaults += ["--server_num", "2"]
    if not has("--log_dir"):
        defaults += ["--log_dir", "logs"]
    launch(["--compat", "launch_ps"] + defaults + arguments)


if __name__ == "__main__":
    main()
