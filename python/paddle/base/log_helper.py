"""paddle.base.log_helper: loggers that write to standard error."""
import logging

from paddle import _names


def get_logger(name, level, fmt=None):
    """A logger of that level, with a handler of its own."""
    logger = logging.getLogger(name)
    logger.setLevel(level)
    handler = logging.StreamHandler()
    if fmt:
        handler.setFormatter(logging.Formatter(fmt=fmt, datefmt="%a %b %d %H:%M:%S"))
    logger.addHandler(handler)
    logger.propagate = False
    return logger


__getattr__ = _names.guard(__name__)
