"""paddle.Tensor of eager mode: a value with, perhaps, a gradient.

The functions of paddle.tensor become its methods, the operators and the methods that work in place are made in
_tensor_math.py and _tensor_methods.py when paddle.tensor is loaded.
"""
from skiff import _native

from paddle._names import member as _member
from paddle.fluid import core

_names = {"next": 0}
_backward = _native.eager_backward


class EagerPlace(core.CPUPlace):
    """Where tensors are: the CPU, printed as Paddle 2 prints it."""

    def __repr__(self):
        return "Place(cpu)"

    __str__ = __repr__

    def __eq__(self, other):
        return isinstance(other, core.CPUPlace)

    __hash__ = core.CPUPlace.__hash__

    def is_cpu_place(self):
        return True

    def is_gpu_place(self):
        return False

    is_cuda_pinned_place = is_xpu_place = is_custom_place = is_gpu_place


PLACE = EagerPlace()


class HookHandle(object):
    """What register_hook gives: remove() takes the hook away."""

    __slots__ = ("_tensor", "_number")

    def __init__(self, tensor, number):
        self._tensor, self._number = tensor, number

    def remove(self):
        """True: it was there."""
        if self._tensor._remove_hook(self._number):
            return True
        import warnings
        warnings.warn("The backward hook (ID: %d) of Tensor `%s` you want to remove does not exist or has been removed."
                      % (self._number, self._tensor.name), RuntimeWarning)
        return False


class Tensor(_native.EagerTensor):
    """A tensor. paddle.to_tensor and all functions make them."""

    __getattr__ = _member

    persistable = False
    is_parameter = False
    block = None
    __array_ufunc__ = None  # numpy leaves operators to this class
    __hash__ = object.__hash__

    # ---- what it is ----

    @property
    def dtype(self):
        return core.BY_DTYPE[self._dtype]

    @property
    def name(self):
        name = self.__dict__.get("_name")
        if name is None:
            name = self._name = "generated_tensor_%d" % _names["next"]
            _names["next"] += 1
        return name

    @name.setter
    def name(self, value):
        self._name = value
        self._set_name(value)

    @property
    def size(self):
        return self._count

    @property
    def place(self):
        return PLACE

    @property
    def type(self):
        return core.VarType.SELECTED_ROWS if self._kind == "rows" else core.VarType.LOD_TENSOR

    @property
    def strides(self):
        steps, step = [], 1
        for size in reversed(self.shape):
            steps.insert(0, step)
            step *= size
        return steps

    @property
    def data(self):
        return self

    @data.setter
    def data(self, value):
        self._become(value)

    layout = "NCHW"
    offset = 0
    _place_str = "Place(cpu)"

    def dim(self):
        return self.ndim

    ndimension = dim

    def element_size(self):
        """Bytes of an element."""
        return {"bool": 1, "uint8": 1, "int8": 1, "int16": 2, "float16": 2, "bfloat16": 2, "int32": 4,
                "float32": 4}.get(self._dtype, 8)

    def is_dense(self):
        return self._kind != "rows"

    def is_selected_rows(self):
        return self._kind == "rows"

    def is_sparse(self):
        return False

    is_dist = is_sparse_coo = is_sparse_csr = is_sparse

    def is_contiguous(self):
        return True

    def contiguous(self):
        return self

    def _is_initialized(self):
        return self._kind != "none"

    _is_dense_tensor_hold_allocation = _is_initialized

    def _numel(self):
        return self._count

    def data_ptr(self):
        """Where its memory begins."""
        import numpy
        return numpy.asarray(memoryview(self)).ctypes.data

    def is_same_shape(self, y):
        return self.shape == y.shape

    # ---- numbers in and out ----

    def numpy(self, *_):
        """A copy as a numpy array."""
        return self._numpy()

    def __array__(self, dtype=None, copy=None):
        array = self._numpy()
        return array if dtype is None else array.astype(dtype)

    def tolist(self):
        return self._numpy().tolist()

    def item(self, *args):
        """The only element, or that at a place, as a Python number."""
        if not args:
            value = self._item()
            if value is not None:
                return value
            if self._count != 1:
                raise ValueError("only one element tensors can be converted to Python scalars when no input coordinates: the "
                                 "tensor has %d elements" % self._count)
            return self._numpy().item()
        import numpy
        if len(args) == 1 and isinstance(args[0], (list, tuple)):
            args = tuple(args[0])
        array = (self.astype("float32") if self._dtype == "bfloat16" else self)._numpy()
        if len(args) == 1:
            if not -array.size <= args[0] < array.size:
                raise ValueError("index %d is out of bounds for size %d" % (args[0], array.size))
            return array.ravel()[args[0]].item()
        if len(args) != array.ndim:
            raise ValueError("%d coordinates for a tensor of %d dimensions" % (len(args), array.ndim))
        try:
            return numpy.asarray(array[tuple(args)]).item()
        except IndexError as error:
            raise ValueError(str(error)) from None

    def _only(self, what):
        value = self._item()
        if value is not None:
            return value
        if self._count != 1:
            raise AssertionError("only one element variable can be converted to %s, but the shape is %s" % (what, self.shape))
        return self._numpy().item()

    def __float__(self):
        return float(self._only("float"))

    def __int__(self):
        return int(self._only("int"))

    __long__ = __int__

    def __index__(self):
        return int(self._only("python index"))

    def __bool__(self):
        value = self._item()
        if value is not None:
            return bool(value)
        if self._count != 1:
            raise AssertionError("When Variable is used as the condition of if/while , Variable can only contain one element; the "
                             "shape is %s. paddle.any() and paddle.all() make one of many." % self.shape)
        return bool(self._numpy().item())

    __nonzero__ = __bool__

    def __len__(self):
        if not self.ndim:
            raise AssertionError("len() of a 0-D tensor is wrong")
        return self.shape[0]

    def __iter__(self):
        if not self.ndim:
            raise TypeError("iteration over a 0-D tensor")
        return (self[i] for i in range(self.shape[0]))

    def __contains__(self, item):
        return bool((self == item).any())

    def __format__(self, how):
        return format(self._numpy().item() if self._count == 1 and how else str(self), how)

    def set_value(self, value):
        """Another content of the same shape and type."""
        import numpy
        if isinstance(value, Tensor):
            kind, array = value._dtype, value._numpy()
        elif isinstance(value, _native.Tensor):
            array = numpy.array(value)
            kind = array.dtype.name
        else:
            if not isinstance(value, numpy.ndarray):
                value = numpy.asarray(value, dtype=self._dtype)
            kind, array = value.dtype.name, value
        if list(array.shape) != self.shape:
            raise AssertionError("Variable Shape not match, Variable [ %s ] need tensor with shape %s but load set tensor with "
                                 "shape %s" % (self.name, self.shape, array.shape))
        if kind != self._dtype and not (kind == "uint16" and self._dtype == "bfloat16"):
            raise AssertionError("Variable dtype not match, Variable [ %s ] need tensor with dtype %s  but load tensor with "
                                 "dtype %s" % (self.name, self._dtype, kind))
        self.set(array, self._dtype)

    def copy_(self, other, blocking=True):
        """The content of another tensor."""
        self.set(other._numpy(), other._dtype)
        return self

    def _copy_to(self, place, blocking=True):
        return self.clone()

    def value(self):
        return self

    def get_tensor(self):
        """The same as a tensor of a scope: a copy; set() writes through."""
        return _View(self)

    def get_selected_rows(self):
        if self._kind != "rows":
            raise RuntimeError("Tensor %s is not SelectedRows" % self.name)
        return _Rows(self)

    def rows(self):
        return self._rows() or []

    # ---- places ----

    def cpu(self):
        return self

    def cuda(self, device_id=None, blocking=True):
        raise RuntimeError("Tensor.cuda: Skiff computes on the CPU; tensors stay there")

    def pin_memory(self, blocking=True):
        raise RuntimeError("Tensor.pin_memory: Skiff computes on the CPU and has no page-locked memory; leave the call out")

    # ---- copies ----

    def detach(self):
        """A tensor with the same memory and no gradient."""
        return self._detach()

    def detach_(self):
        self._become(self._detach())
        return self

    def __deepcopy__(self, memo):
        if not self.is_leaf:
            raise RuntimeError("Only Leaf Tensor support the deepcopy at the moment, non-Leaf Tensors contains graph "
                               "information that doesn't support deepcopy")
        new = Tensor()
        memo[id(self)] = new
        if self._kind != "none":
            new.set(self._numpy(), self._dtype)
        new.stop_gradient = self.stop_gradient
        new.persistable = self.persistable
        import copy
        for key, value in self.__dict__.items():
            if key != "_name":
                setattr(new, key, copy.deepcopy(value, memo))
        from paddle.fluid._build import net
        new.name = self.name + net.name("_deepcopy")
        return new

    def __reduce__(self):
        return _unpickled, (self._numpy(), self._dtype, self.stop_gradient, self.__dict__.get("_name"))

    # ---- gradients ----

    @property
    def grad(self):
        return self._grad

    @grad.setter
    def grad(self, value):
        if value is not None and not isinstance(value, Tensor):
            raise TypeError("a gradient must be a Tensor or None, but received %s" % type(value))
        if value is not None and value.shape != self.shape and value._kind != "rows":
            raise ValueError("the gradient of %s must have the shape %s, but the given one has %s" %
                             (self.name, self.shape, value.shape))
        self._grad = value

    grad_ = grad

    def _set_grad_ivar(self, value):
        self.grad = value

    def _grad_ivar(self):
        return self._grad

    def gradient(self):
        """The gradient as a numpy array (SelectedRows: array and ids), or None."""
        grad = self._grad
        if grad is None:
            return None
        import numpy
        if grad._kind == "rows":
            return grad._numpy(), numpy.array(grad._rows())
        return grad._numpy()

    def backward(self, grad_tensor=None, retain_graph=False):
        """Gradients of the sum of its elements (weighted by grad_tensor) are added to the leaves."""
        if grad_tensor is None:
            _backward((self,), None, retain_graph)
            return
        if not isinstance(grad_tensor, Tensor):
            raise AssertionError("The type of grad_tensor must be paddle.Tensor, but received %s" % type(grad_tensor))
        if grad_tensor.shape != self.shape:
            raise AssertionError("Tensor shape not match, Tensor of grad_tensor [ %s ] with shape %s mismatch Tensor [ %s ] "
                                 "with shape %s" % (grad_tensor.name, grad_tensor.shape, self.name, self.shape))
        _backward((self,), (grad_tensor,), retain_graph)

    def clear_gradient(self, *set_to_zero, **unused):
        """The gradient becomes zero; clear_gradient(False): None. As in Paddle, the argument counts by position only."""
        if not set_to_zero or set_to_zero[0]:
            self._clear_grad()
        else:
            self._grad = None

    def clear_grad(self):
        self._clear_grad()

    def _zero_grads(self):
        self._clear_grad()

    def register_hook(self, hook):
        """hook(gradient) is called in every backward; what it returns, unless None, takes the gradient's place."""
        if not callable(hook):
            raise TypeError("a hook must be callable, but received %s" % type(hook))
        number = self._add_hook(hook)
        if not number:
            raise RuntimeError("Cannot register hook on a tensor that stop gradient.")
        return HookHandle(self, number)

    def retain_grads(self):
        """backward leaves the gradient here too."""
        if self.stop_gradient:
            raise RuntimeError("Tensor %s has stop_gradient=True: it has no gradient that could be retained" % self.name)
        self._retain_grad()

    def _bump_inplace_version(self):
        self._touched()

    @property
    def _inplace_version(self):
        return self.inplace_version

    @property
    def grad_fn(self):
        return None if self.is_leaf else self

    def __repr__(self):
        from paddle._tensor_print import text
        return text(self)

    __str__ = __repr__


def _unpickled(array, dtype, stop_gradient, name):
    import paddle.tensor  # noqa: F401 (operators and methods, which a process that only unpickles has not loaded)
    new = Tensor(array, dtype)
    new.stop_gradient = stop_gradient
    if name is not None:
        new.name = name
    return new


class _View(object):
    """What get_tensor() gives."""

    def __init__(self, tensor):
        self._tensor = tensor

    def __array__(self, dtype=None, copy=None):
        return self._tensor.__array__(dtype)

    def set(self, array, place=None):
        self._tensor.set(array)

    def shape(self):
        return self._tensor.shape

    def _is_initialized(self):
        return self._tensor._is_initialized()

    def _dtype(self):
        return self._tensor.dtype

    def _numel(self):
        return self._tensor._count


class _Rows(object):
    """What get_selected_rows() gives: ids and their rows."""

    def __init__(self, tensor):
        self._tensor = tensor

    def rows(self):
        return self._tensor._rows()

    def get_tensor(self):
        return _View(self._tensor)

    def height(self):
        return self._tensor.shape[0]


class Parameter(Tensor):
    """A tensor that is trained. Its shape is known before an initializer has filled it."""

    persistable = True
    is_parameter = True

    def __init__(self, shape, dtype, name, attr, is_distributed=False):
        super().__init__()
        self._shape = list(shape)
        self._type = dtype
        self.name = name
        self.optimize_attr = {"learning_rate": attr.learning_rate}
        self.regularizer = attr.regularizer
        self.do_model_average = attr.do_model_average
        self.need_clip = attr.need_clip
        self.is_distributed = is_distributed
        self.stop_gradient = not attr.trainable

    def initialize(self):
        """Nothing to do: its values are there from the start (LazyGuard)."""

    @property
    def shape(self):
        return list(self._shape)

    @property
    def dtype(self):
        return core.BY_DTYPE[self._type]

    @property
    def trainable(self):
        return not self.stop_gradient

    @trainable.setter
    def trainable(self, value):
        self.stop_gradient = not value

    def __repr__(self):
        return "Parameter containing:\n" + super().__repr__()

    __str__ = __repr__

    def __deepcopy__(self, memo):
        import copy
        new = Parameter.__new__(Parameter)
        memo[id(self)] = new
        for key, value in self.__dict__.items():
            setattr(new, key, copy.deepcopy(value, memo))
        from paddle.fluid._build import net
        new.name = self.name + net.name("_deepcopy")
        new.set(self._numpy(), self._dtype)
        new.stop_gradient = self.stop_gradient
        return new

    def __reduce__(self):
        state = {key: value for key, value in self.__dict__.items()}
        return _unpickled_parameter, (self._numpy(), self._dtype, self.stop_gradient, state)


def _unpickled_parameter(array, dtype, stop_gradient, state):
    import paddle.tensor  # noqa: F401 (as above)
    new = Parameter.__new__(Parameter)
    new.__dict__.update(state)
    new.set(array, dtype)
    new.stop_gradient = stop_gradient
    return new


Tensor.__module__ = "paddle"  # where Paddle has it, and what type() prints
_native.set_classes(EagerTensor=Tensor)
