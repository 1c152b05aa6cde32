"""One process of a job that calls functions of another one (test_rpc.py): rpc_job.py <what> <rank> <size> <endpoint>"""
import json
import os
import sys
import threading

import numpy as np
import paddle
import paddle.distributed.rpc as rpc


class Unsendable(Exception):
    """Can be written by pickle and not read."""

    def __init__(self, one, two):
        super().__init__("%s and %s" % (one, two))


def add(a, b):
    return a + b


def pid():
    return os.getpid()


def fail(kind):
    raise {"key": KeyError("lost"), "own": Unsendable(1, 2), "exit": SystemExit(3)}[kind]


def lock():
    return threading.Lock()


def back(name, depth):
    """Calls the caller, which calls this one, and so on."""
    if depth == 0:
        return [rpc.get_current_worker_info().name]
    me = rpc.get_current_worker_info().name
    return [me] + rpc.rpc_sync(name, back, args=(me, depth - 1))


def end(status):
    os._exit(status)


def wait_for(path):
    while not os.path.exists(path):
        pass


def raised(function):
    """[kind, message, cause] of an exception."""
    try:
        return ["nothing", repr(function()), ""]
    except BaseException as error:
        return [type(error).__name__, str(error), str(error.__cause__)]


def calls():
    out = {"sum": rpc.rpc_sync("w1", add, args=(2, 3)), "keywords": rpc.rpc_sync("w2", add, kwargs={"a": "x", "b": "y"})}
    futures = [rpc.rpc_async("w%d" % (1 + k % 2), add, args=(k, 10)) for k in range(20)]
    out["async"] = [future.wait() for future in futures]
    x = rpc.rpc_sync("w1", add, args=(paddle.ones([2]), paddle.to_tensor([1.0, 2.0])))
    out["tensor"] = [type(x).__name__, x.numpy().tolist()]
    out["large"] = float(rpc.rpc_sync("w2", np.sum, args=(np.ones(3_000_000),)))
    out["self"] = rpc.rpc_sync("w0", pid) == os.getpid()
    out["others"] = len({rpc.rpc_sync(name, pid) for name in ("w0", "w1", "w2")})
    out["nested"] = rpc.rpc_sync("w1", back, args=("w0", 4))
    infos = rpc.get_all_worker_infos()
    out["infos"] = [[i.name, i.rank, i.ip] for i in infos]
    out["info"] = [rpc.get_worker_info("w2") == infos[2], repr(infos[1]) == "{name: w1, rank: 1, ip: 127.0.0.1, port: %d}" % infos[1].port]
    out["raised"] = [raised(function) for function in (
        lambda: rpc.rpc_sync("w1", fail, args=("key",)), lambda: rpc.rpc_async("w1", fail, args=("own",)).wait(),
        lambda: rpc.rpc_sync("w1", fail, args=("exit",)), lambda: rpc.rpc_sync("w1", lock), lambda: rpc.rpc_sync("nobody", add),
        lambda: rpc.rpc_sync("w1", lambda: 3), lambda: rpc.rpc_async("w1", lambda: 3),
        lambda: rpc.rpc_sync("w1", wait_for, args=("/never",), timeout=0.2), lambda: rpc.get_worker_info("w9"))]
    out["after"] = rpc.rpc_sync("w1", add, args=(1, 1))
    return out


def main():
    what, rank, size, endpoint = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    name = "same" if what == "names" else "w%d" % rank
    if what == "environment":
        os.environ.update(PADDLE_TRAINER_ID=str(rank), PADDLE_TRAINERS_NUM=str(size), PADDLE_MASTER_ENDPOINT=endpoint)
        rpc.init_rpc(name)
    else:
        rpc.init_rpc(name, rank, size, endpoint)
    if what == "calls" and rank == 0:
        print(json.dumps(calls()))
    elif what == "ends" and rank == 0:
        print(json.dumps([raised(lambda: rpc.rpc_sync("w1", end, args=(7,))), raised(lambda: rpc.rpc_sync("w1", add, args=(1, 2))),
                          raised(rpc.shutdown)]))
        return
    elif what in ("holds", "ends"):
        print("ready", flush=True)
        sys.stdin.readline()
    rpc.shutdown()
    print("left", flush=True)


if __name__ == "__main__":
    main()
