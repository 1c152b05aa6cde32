"""paddle.distributed.utils: what launchers ask of the machine."""
import logging
import socket
import sys

from paddle import _names


def get_logger(log_level, name="root"):
    """A logger that writes to the console."""
    logger = logging.getLogger(name)
    logger.setLevel(log_level)
    logger.propagate = False
    if not logger.handlers:
        handler = logging.StreamHandler(sys.stdout)
        handler.setFormatter(logging.Formatter(fmt="%(levelname)s %(asctime)s %(filename)s:%(lineno)d] %(message)s"))
        logger.addHandler(handler)
    return logger


def get_host_name_ip():
    """(name, address) of this machine; None: its name has no address."""
    try:
        name = socket.gethostname()
        return name, socket.gethostbyname(socket.getfqdn(name))
    except OSError:
        return None


def find_free_ports(num):
    """A set of free ports."""
    from paddle.distributed._spawn import _free_ports
    return set(_free_ports(num))


def get_cluster(*_args, **_keys):
    raise NotImplementedError("paddle.distributed.utils.get_cluster: launching is `skiff launch`; nearest: paddle.distributed.spawn")


__getattr__ = _names.guard(__name__)
