"""Which server gets which block: config.split_method = RoundRobin or HashName. The rules themselves are in C
(src/passes/split_config.c); dispatch() shows what they give."""
from paddle import _names

__all__ = ["PSDispatcher", "HashName", "RoundRobin"]


class PSDispatcher(object):
    def __init__(self, pserver_endpoints):
        self._eps = pserver_endpoints
        self._step = 0

    @property
    def eps(self):
        return self._eps

    def reset(self):
        self._step = 0

    def dispatch(self, varlist):
        raise NotImplementedError("use RoundRobin or HashName")


class RoundRobin(PSDispatcher):
    """One server after the other."""

    def dispatch(self, varlist):
        servers = []
        for _ in varlist:
            servers.append(self._eps[self._step])
            self._step = (self._step + 1) % len(self._eps)
        return servers


class HashName(PSDispatcher):
    """By a hash of the name, the same in every process (Paddle's is not)."""

    def dispatch(self, varlist):
        import zlib
        names = [var if isinstance(var, str) else var.name() if callable(var.name) else var.name for var in varlist]
        return [self._eps[zlib.crc32(name.encode()) % len(self._eps)] for name in names]


__getattr__ = _names.guard(__name__)
