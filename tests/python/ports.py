"""Ports for servers of tests."""
import random
import socket


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
            return s.getsockname()[1]
