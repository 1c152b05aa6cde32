"""fluid.core: places, data types, scopes and tensors. What Paddle has here in C++ is thin Python on skiff._native."""
from skiff import _native

from paddle import _names, _which


class EOFException(Exception):
    """A reader that was started (PyReader, DataLoader with iterable=False) has no more data."""


#: what Paddle raises when an operator refuses its inputs; Skiff raises ValueError, TypeError, ... with RuntimeError for the rest
EnforceNotMet = RuntimeError


#: as many threads compute a large op of eager mode or exe.run; at first as many as OMP_NUM_THREADS says, or 1
set_num_threads = _native.set_num_threads


class VarType(int):
    """Data types and kinds of variables, with the numbers of Paddle's framework.proto."""

    _names = {}
    _modern = False  # functions of 2.x are in use: types are printed as 2.x prints them

    def __new__(cls, number, name=None, dtype=None):
        if name is None:
            return cls._names[int(number)]
        self = int.__new__(cls, number)
        self.name, self.dtype = name, dtype
        cls._names[number] = self
        setattr(cls, name, self)
        return self

    @staticmethod
    def _of_2x():
        return VarType._modern or _which.version() >= "2"

    def __repr__(self):
        return "<VarType.%s: %d>" % (self.name, self) if self._of_2x() else "VarType." + self.name

    def __str__(self):
        return "paddle." + self.dtype if self.dtype and self._of_2x() else "VarType." + self.name

    def __format__(self, how):
        return format(str(self), how)

    def __reduce__(self):
        return VarType, (int(self),)

    @property
    def value(self):
        return int(self)


for _number, _name, _dtype in (
        (0, "BOOL", "bool"), (1, "INT16", "int16"), (2, "INT32", "int32"), (3, "INT64", "int64"), (4, "FP16", "float16"),
        (5, "FP32", "float32"), (6, "FP64", "float64"), (7, "LOD_TENSOR", None), (8, "SELECTED_ROWS", None),
        (9, "FEED_MINIBATCH", None), (10, "FETCH_LIST", None), (11, "STEP_SCOPES", None), (12, "LOD_RANK_TABLE", None),
        (13, "LOD_TENSOR_ARRAY", None), (14, "PLACE_LIST", None), (15, "READER", None), (17, "RAW", None), (18, "TUPLE", None),
        (20, "UINT8", "uint8"), (21, "INT8", "int8"), (22, "BF16", "bfloat16")):
    VarType(_number, _name, _dtype)

BY_DTYPE = {kind.dtype: kind for kind in VarType._names.values() if kind.dtype}


class VarDesc(object):
    VarType = VarType


class AttrType(object):
    INT, FLOAT, STRING, INTS, FLOATS, STRINGS, BOOL, BOOLS, BLOCK, LONG, BLOCKS, LONGS = range(12)


class op_proto_and_checker_maker(object):
    """Names and values of the attributes that every operator has."""

    class OpRole(object):
        Forward, Backward, Optimize, RPC, Dist, LRSched, Loss = 0, 1, 2, 4, 8, 16, 256

    @staticmethod
    def kOpRoleAttrName():
        return "op_role"

    @staticmethod
    def kOpRoleVarAttrName():
        return "op_role_var"

    @staticmethod
    def kOpNameScopeAttrName():
        return "op_namescope"


def grad_var_suffix():
    return "@GRAD"


def empty_var_name():
    return "@EMPTY@"


# ---- places ------------------------------------------------------------------------------------


class _Place(object):
    def __eq__(self, other):
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash((type(self), tuple(sorted(self.__dict__.items()))))


class CPUPlace(_Place):
    """The CPU; the only place where Skiff computes."""

    def __repr__(self):
        return "CPUPlace"


class CUDAPlace(_Place):
    """Named for scripts that have it behind a switch. Skiff has no CUDA: an Executor on it is refused."""

    def __init__(self, id=0):
        if not isinstance(id, int):
            raise TypeError("CUDAPlace: the device id must be an int, but got %s" % type(id))
        self.id = id

    def __repr__(self):
        return "CUDAPlace(%d)" % self.id


class CUDAPinnedPlace(_Place):
    """Page-locked memory for CUDA; not used here."""

    def __repr__(self):
        return "CUDAPinnedPlace"


class Place(object):
    """Any place, in C++'s way: Place().set_place(CPUPlace())."""

    def __init__(self):
        self.place = None

    def set_place(self, place):
        self.place = place

    def is_cpu_place(self):
        return isinstance(self.place, CPUPlace)

    def is_gpu_place(self):
        return isinstance(self.place, CUDAPlace)


def is_compiled_with_cuda():
    return False


def get_cuda_device_count():
    return 0


def is_compiled_with_dist():
    return True


def is_compiled_with_brpc():
    return False


# ---- values ------------------------------------------------------------------------------------


class LoDTensor(_native.Tensor):
    """A value with sequence levels: `numpy.array(tensor)` reads it, `set(array, place)` writes it."""

    def set(self, array, place=None, zero_copy=False):
        """Another content; the place is not looked at."""
        if not isinstance(place, (_Place, Place, type(None))):
            raise TypeError("set(): place must be a place, but got %s" % type(place))
        lod = self.lod() if self._is_initialized() else []
        rows = self._get_dims()[:1] if lod else []
        _native.Tensor.set(self, array)
        if lod and rows == self._get_dims()[:1]:
            self.set_lod(lod)

    def shape(self):
        return list(_native.Tensor.shape.__get__(self))

    _get_dims = shape

    def _dtype(self):
        return BY_DTYPE[_native.Tensor.dtype.__get__(self)]

    def _is_initialized(self):
        return self.initialized

    def _place(self):
        return CPUPlace()

    def _copy(self, place=None):
        return self.copy()

    def cpu(self):
        """A copy: everything is in the memory of the CPU."""
        return self.copy()

    def _set_dims(self, dims):
        import numpy
        _native.Tensor.set(self, numpy.zeros(dims, "float32"))

    def _clear(self):
        import numpy
        _native.Tensor.set(self, numpy.zeros([0], "float32"))

    def __array__(self, dtype=None, copy=None):
        value = self.numpy()
        return value if dtype is None else value.astype(dtype)

    def __str__(self):
        if not self._is_initialized():
            return "\n"
        return "lod: %s\ndim: %s\ndtype: %s\ndata: %s" % (
            self.lod(), ", ".join(map(str, self.shape())), _native.Tensor.dtype.__get__(self), self.numpy())

    __repr__ = __str__


Tensor = LoDTensor


class LoDTensorArray(list):
    """A list of tensors."""

    def append(self, item):
        if not isinstance(item, LoDTensor):
            raise TypeError("LoDTensorArray holds LoDTensor, not %s" % type(item))
        list.append(self, item)


class SelectedRows(object):
    """Rows of a tall matrix: `rows()`, `height()`, `get_tensor()`."""

    def __init__(self, rows=None, height=0, tensor=None):
        self._rows, self._height = list(rows or []), height
        self._tensor = LoDTensor() if tensor is None else tensor

    def rows(self):
        rows = self._tensor.rows
        return self._rows if rows is None else rows

    def set_rows(self, rows):
        self._rows = list(rows)

    def height(self):
        return self._tensor.height if self._tensor.rows is not None else self._height

    def set_height(self, height):
        self._height = height

    def get_tensor(self):
        return self._tensor

    def sync_index(self):
        pass


class _ScopeVariable(object):
    """What Scope.var and Scope.find_var give: the variable, whose value get_tensor() gives."""

    def __init__(self, name, tensor):
        self._name, self._tensor = name, tensor

    def name(self):
        return self._name

    def get_tensor(self):
        return self._tensor

    def get_selected_rows(self):
        return SelectedRows(tensor=self._tensor)

    def get_lod_tensor_array(self):
        return LoDTensorArray([self._tensor.item(i) for i in range(len(self._tensor))])

    def is_int(self):
        return False

    def set_int(self, value):
        import numpy
        self._tensor.set(numpy.array([value], "int32"))

    def get_int(self):
        return int(self._tensor.numpy().ravel()[0])


class Scope(_native.Scope):
    """Named values that live longer than a run."""

    def var(self, name):
        """The variable, made when there is none."""
        return _ScopeVariable(name, _native.Scope.var(self, name))

    def find_var(self, name):
        """The variable, or None."""
        tensor = _native.Scope.find(self, name)
        return None if tensor is None else _ScopeVariable(name, tensor)

    def local_var_names(self):
        return self.names()

    def drop_kids(self):
        pass


_native.set_classes(Tensor=LoDTensor, Scope=Scope)
from paddle.fluid._psgpu import PSGPU  # noqa: E402,F401
_Scope = Scope

__getattr__ = _names.guard(__name__)
