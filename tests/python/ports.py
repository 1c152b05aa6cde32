"""Ports for servers of tests."""
import random
import socket

_held = []  # names that say "this port is chosen", as host_free_ports in src/net/host.c has them; until this process ends


def _reserve(port):
    name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        name.bind("\0skiff-port-%d" % port)
    except OSError:
        name.close()
        return False
    _held.append(name)
    return True


def free_port():
    """One below those that the system takes for outgoing connections: other tests run at the same time and connect all over, and
    would get it between this call and the server's start."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as f:
        high = int(f.read().split()[0])
    while True:
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", random.SystemRandom().randrange(10240, max(high, 10241))))
            except OSError:
                continue
            if _reserve(s.getsockname()[1]):
                return s.getsockname()[1]
