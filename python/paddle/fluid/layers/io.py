"""Inputs of a program, and readers that feed it."""
import builtins

from skiff import _native

from paddle import _names
from paddle.fluid import framework
from paddle.fluid._build import net

__all__ = ["data", "read_file", "double_buffer", "py_reader", "create_py_reader_by_data", "load"]


def data(name, shape, append_batch_size=True, dtype="float32", lod_level=0, type=None, stop_gradient=True):
    """An input. A dimension for the batch is put in front unless append_batch_size is False or a dimension is given as -1."""
    if not isinstance(name, str):
        raise TypeError("The type of 'name' in data must be str, but received %s." % builtins.type(name))
    if not isinstance(shape, (list, tuple)):
        raise TypeError("The type of 'shape' in data must be list or tuple, but received %s." % builtins.type(shape))
    var = _native.layers.data(
        net, name, [-1 if d is None else int(d) for d in shape], dtype=framework.checked_dtype(dtype, "data"), lod_level=lod_level,
        no_batch_size=not append_batch_size, with_gradient=not stop_gradient)
    var.is_data = True
    return var




def py_reader(capacity, shapes, dtypes, lod_levels=None, name=None, use_double_buffer=True):
    """A reader with variables of its own (read_file gives them): decorate_paddle_reader, start, run until EOFException, reset."""
    from paddle.fluid.reader import PyReader
    name = name or framework.unique_name.generate("py_reader")
    lod_levels = lod_levels or [0] * len(shapes)
    if not len(shapes) == len(dtypes) == len(lod_levels):
        raise ValueError("py_reader: %d shapes, %d dtypes, %d lod_levels" % (len(shapes), len(dtypes), len(lod_levels)))
    block = framework.default_main_program().current_block()
    variables = [block.create_var(name=framework.unique_name.generate(name + "_slot"), shape=shape, dtype=dtype,
                                  lod_level=level, stop_gradient=True, is_data=True)
                 for shape, dtype, level in zip(shapes, dtypes, lod_levels)]
    reader = PyReader(variables, capacity, use_double_buffer, iterable=False)
    reader.name = name
    return reader


def create_py_reader_by_data(capacity, feed_list, name=None, use_double_buffer=True):
    """The same for inputs that are there already."""
    from paddle.fluid.reader import PyReader
    reader = PyReader(feed_list, capacity, use_double_buffer, iterable=False)
    reader.name = name or framework.unique_name.generate("py_reader")
    return reader


def read_file(reader):
    """The variables of a py_reader."""
    variables = list(reader._feed_list)
    return variables[0] if len(variables) == 1 else variables


def double_buffer(reader, place=None, name=None):
    """The reader itself: its thread reads ahead anyway."""
    return reader


def load(out, file_path, load_as_fp16=None):
    """Fills a variable from a file when the program runs."""
    attrs = {"file_path": file_path}
    if load_as_fp16 is not None:
        attrs["load_as_fp16"] = load_as_fp16
    framework.default_main_program().current_block().append_op(type="load", inputs={}, outputs={"Out": [out]}, attrs=attrs)


__getattr__ = _names.guard(__name__)
