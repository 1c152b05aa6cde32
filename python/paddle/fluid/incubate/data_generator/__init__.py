"""Programs that turn raw lines into MultiSlot text: the pipe commands of a dataset.

    class MyData(dg.MultiSlotDataGenerator):
        def generate_sample(self, line):
            def reader():
                yield [("words", [1, 2, 3]), ("label", [0])]
            return reader

    MyData().run_from_stdin()

Pure Python on purpose: such a program is started once per file and must start fast. Unlike Paddle 1.8 on Python 3, a value
that is no number gives a ValueError (there: NameError).
"""
import sys

__all__ = ["DataGenerator", "MultiSlotDataGenerator", "MultiSlotStringDataGenerator"]


class DataGenerator(object):
    """Reads lines, makes samples of them (generate_sample), groups of samples (generate_batch), and text."""

    def __init__(self):
        self._proto_info = None
        self.batch_size_ = 32
        self._line_limit = None

    def _set_line_limit(self, line_limit):
        if not isinstance(line_limit, int):
            raise ValueError("line_limit%s must be in int type" % type(line_limit))
        if line_limit < 1:
            raise ValueError("line_limit can not less than 1")
        self._line_limit = line_limit

    def set_batch(self, batch_size):
        """Samples that generate_batch gets at a time (32)."""
        self.batch_size_ = batch_size

    def _write(self, samples, write):
        for sample in self.generate_batch(samples)():
            write(self._gen_str(sample))

    def _run(self, lines):
        write = sys.stdout.write
        pending, limit = [], self.batch_size_
        for line in lines:
            for sample in self.generate_sample(line)():
                if sample is None:
                    continue
                pending.append(sample)
                if len(pending) == limit:
                    self._write(pending, write)
                    pending = []
        if pending:
            self._write(pending, write)
        sys.stdout.flush()

    def run_from_memory(self):
        """Samples come from generate_sample(None), not from a file."""
        self._run([None])

    def run_from_stdin(self):
        """One or more samples per line of standard input, MultiSlot text to standard output."""
        if self._line_limit is None:
            self._run(sys.stdin)
        else:
            import itertools
            self._run(itertools.islice(sys.stdin, self._line_limit))

    def _gen_str(self, line):
        raise NotImplementedError(
            "pls use MultiSlotDataGenerator or MultiSlotStringDataGenerator")

    def generate_sample(self, line):
        """To be written by the user: a function without arguments that yields [(name, [values]), ...]."""
        raise NotImplementedError(
            "Please rewrite this function to return a list or tuple: [(name, [feasign, ...]), ...]")

    def generate_batch(self, samples):
        """May be written by the user: a function that yields samples, of a list of samples."""

        def local_iter():
            for sample in samples:
                yield sample

        return local_iter


def _pairs(sample):
    """A sample as a list: zip(names, values) and other iterables of pairs are taken once."""
    if isinstance(sample, (list, tuple)):
        return sample
    if isinstance(sample, (str, bytes, dict)) or not hasattr(sample, "__iter__"):
        raise ValueError("the output of process() must be in list or tuple type, or an iterable of pairs, for example: "
                         "[('words', [1926, 8, 17]), ('label', [1])]; found %s" % type(sample))
    return list(sample)


class MultiSlotStringDataGenerator(DataGenerator):
    """Values are text already; nothing is checked but the outer form."""

    def _gen_str(self, line):
        line = _pairs(line)
        words = []
        for _, values in line:
            words.append(str(len(values)))
            words.extend(values)
        return " ".join(words) + "\n"


class MultiSlotDataGenerator(DataGenerator):
    """Values are int or float. The first sample fixes the slots' names and types."""

    def _gen_str(self, line):
        line = _pairs(line)
        if self._proto_info is None:
            self._proto_info = [[item[0] if isinstance(item, (list, tuple)) and item else None, "uint64"]
                                for item in line]
        elif len(line) != len(self._proto_info):
            raise ValueError("the complete field set of two given line are inconsistent: "
                             "%d slots, not %d." % (len(line), len(self._proto_info)))
        words = []
        for (name, values), info in zip(line, self._proto_info):
            if not isinstance(name, str):
                raise ValueError("name%s must be in str type" % type(name))
            if not isinstance(values, list):
                raise ValueError("elements%s must be in list type" % type(values))
            if not values:
                raise ValueError("the elements of each field can not be empty, you need padding it "
                                 "in process().")
            if name != info[0]:
                raise ValueError("the field name of two given line are not match: require<%s>, get<%s>."
                                 % (info[0], name))
            words.append(str(len(values)))
            for value in values:
                kind = type(value)
                if kind is not int and info[1] != "float":
                    if isinstance(value, float):
                        info[1] = "float"
                    elif not isinstance(value, int):
                        raise ValueError("the type of element%s must be in int or float" % type(value))
                words.append(str(value))
        return " ".join(words) + "\n"
