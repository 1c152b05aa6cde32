"""fluid.DataFeeder: lists of samples become feeds."""
from paddle import _names
from paddle.fluid import core, framework

__all__ = ["DataFeeder"]


def convert_dtype(dtype):
    """"float32" of a data type in any form."""
    return framework.dtype_name(dtype)


class _Converter(object):
    """One variable's values of a batch."""

    def __init__(self, lod_level, shape, dtype, name):
        self.lod_level, self.dtype, self.name = lod_level, dtype, name
        self.shape = list(shape)
        negative = sum(1 for d in self.shape if d is None or d < 0)
        self.shape = None if negative > 1 else [-1 if d is None or d < 0 else d for d in self.shape]
        self.reset()

    def reset(self):
        self.data, self.lengths = [], [[] for _ in range(self.lod_level)]

    def feed(self, value):
        if self.lod_level == 0:
            self.data.append(value)
        else:
            self._feed(value, 0)

    def _feed(self, value, level):
        try:
            self.lengths[level].append(len(value))
        except TypeError:
            raise TypeError("feed of %s: a sequence was expected at level %d, but got %s" % (self.name, level, type(value)))
        if level + 1 == self.lod_level:
            self.data.extend(value)
        else:
            for item in value:
                self._feed(item, level + 1)

    def done(self):
        import numpy
        array = numpy.array(self.data, dtype=self.dtype)
        if self.lod_level:
            # a sequence of plain ids stands for rows of one element
            width = (self.shape or [-1, 1])[1:] if self.shape and -1 in self.shape[:1] else None
            if array.ndim == 1:
                array = array.reshape([-1] + (width or [1]))
            elif width and list(array.shape[1:]) != width:
                array = array.reshape([-1] + width)
        elif self.shape:
            if len(array.shape) != len(self.shape):
                try:
                    array = array.reshape(self.shape)
                except ValueError:
                    raise ValueError("Reshape error. What is defined in data layer is {}, but receive {}".format(
                        self.shape, array.shape))
        tensor = core.LoDTensor(array)
        if self.lod_level:
            tensor.set_recursive_sequence_lengths(self.lengths)
        self.reset()
        return tensor


class DataFeeder(object):
    """feed(list of samples) gives {name: LoDTensor}; a sample has one value per variable of feed_list."""

    def __init__(self, feed_list, place, program=None):
        program = framework.default_main_program() if program is None else program
        self.feed_names, self._columns = [], []
        for var in feed_list:
            if isinstance(var, str):
                var = program.block(0).var(var)
            if not isinstance(var, framework.Variable):
                raise TypeError("Feed list should contain a list of variable")
            self.feed_names.append(var.name)
            self._columns.append((var.lod_level, var.shape, framework.dtype_name(var.dtype), var.name))
        self.place = place

    def feed(self, iterable):
        converters = [_Converter(*column) for column in self._columns]
        for sample in iterable:
            if len(sample) != len(converters):
                raise AssertionError("The number of fields in data (%d) does not match len(feed_list) (%d)" %
                                     (len(sample), len(converters)))
            for converter, value in zip(converters, sample):
                converter.feed(value)
        return {name: converter.done() for name, converter in zip(self.feed_names, converters)}

    def feed_parallel(self, iterable, num_places=None):
        """One feed per device of a list of batches."""
        places = self._places(num_places)
        batches = list(iterable)
        if len(batches) != places:
            raise ValueError("feed_parallel takes multiple iterables, one per place: %d of them, %d places" %
                             (len(batches), places))
        return [self.feed(batch) for batch in batches]

    @staticmethod
    def _places(num_places):
        return num_places if num_places is not None else len(framework.cpu_places())

    def decorate_reader(self, reader, multi_devices, num_places=None, drop_last=True):
        """A reader of feeds; multi_devices: of lists of feeds, one per device."""

        def decorated():
            if not multi_devices:
                for batch in reader():
                    yield self.feed(batch)
                return
            places, group = self._places(num_places), []
            for batch in reader():
                group.append(batch)
                if len(group) == places:
                    yield [self.feed(item) for item in group]
                    group = []
            if group and not drop_last:
                raise ValueError("The data batch which cannot fit for devices will be dropped is not implementation. Other "
                                 "strategies are not implemented")

        return decorated


__getattr__ = _names.guard(__name__)
