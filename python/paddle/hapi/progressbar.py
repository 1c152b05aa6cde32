"""The lines that training prints: "step 10/100 - loss: 0.6931 - 12ms/step", as Paddle writes them."""
import shutil
import sys
import time


def _number(value):
    import numpy
    if isinstance(value, numpy.ndarray) and value.size == 1:
        value = value.item()
    if isinstance(value, (float, numpy.floating)):
        return " %.4f" % value if abs(value) > 1e-3 else " %.4e" % value
    return " %s" % (value,)


def _told(values):
    return "".join(" - %s:%s" % (key, "".join(_number(v) for v in (value if isinstance(value, list) else [value])))
                   for key, value in values)


def _left(seconds):
    if seconds > 3600:
        return "%d:%02d:%02d" % (seconds // 3600, seconds % 3600 // 60, seconds % 60)
    return "%d:%02d" % (seconds // 60, seconds % 60) if seconds > 60 else "%ds" % seconds


class ProgressBar(object):
    """verbose 1: one line that grows; 2 and 3: a line for each update."""

    def __init__(self, num=None, width=30, verbose=1, start=True, file=sys.stdout, name="step"):
        if isinstance(num, int) and num <= 0:
            raise TypeError("num should be None or integer (> 0)")
        columns = shutil.get_terminal_size()[0] or 80
        self._num, self._verbose, self.name = num, verbose, name
        self._width, self._shown, self._start = min(width, int(columns * 0.6), max(columns - 50, 1)), 0, time.time()

    def start(self):
        self._start = time.time()

    def update(self, current_num, values=()):
        each = (time.time() - self._start) / current_num if current_num else 0
        if each >= 1 or each == 0:
            speed = " - %.0fs/%s" % (each, self.name)
        else:
            speed = " - %.0fms/%s" % (each * 1e3, self.name) if each >= 1e-3 else " - %.0fus/%s" % (each * 1e6, self.name)
        if self._verbose == 1:
            text = self._grown(current_num, values, each, speed)
        else:
            count = "%*d/%d" % (len(str(self._num)), current_num, self._num) if self._num else "%3d" % current_num
            text = "%s %s%s%s\n" % (self.name, count, _told(values), speed)
        sys.stdout.write(text)
        sys.stdout.flush()

    def _grown(self, current, values, each, speed):
        back = "\b" * self._shown + "\r"
        if self._num is not None:
            full = int(float(current) / self._num * self._width)
            bar = ("=" * (full - 1) + (">" if current < self._num else "=") if full > 0 else "") + "." * (self._width - full)
            line = "%s %*d/%d [%s]" % (self.name, len(str(self._num)), current, self._num, bar)
        else:
            line = "%s %3d" % (self.name, current)
        line += _told(values)
        if self._num is not None and current < self._num:
            line += " - ETA: " + _left(each * (self._num - current))
        line += speed
        padded = line + " " * max(self._shown - len(line), 0)
        self._shown = len(line)
        return back + padded + ("\n" if self._num is None or current >= self._num else "")
