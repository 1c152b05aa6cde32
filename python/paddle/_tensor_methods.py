"""Methods of Tensors: the functions of paddle.tensor, and their forms that work in place (add_, clip_, ...)."""
import functools

from skiff import _native

from paddle import _tensor_index, _tensor_math
from paddle._tensor import Tensor
from paddle._v2 import INPLACE
from paddle.fluid import core
from paddle.fluid.framework import dtype_name as _fluid_name

_one = _native.eager_one
#: functions of one tensor (the first argument) that Tensors have as methods, when they are there
METHODS = (
    "abs acos acosh add add_n addmm all allclose amax amin angle any argmax argmin argsort asin asinh atan atan2 atanh atleast_1d "
    "atleast_2d atleast_3d bincount bitwise_and bitwise_not bitwise_or bitwise_xor bmm broadcast_tensors broadcast_to bucketize "
    "cast cdist ceil cholesky chunk clip concat cos cosh count_nonzero cov cross cummax cummin cumprod cumsum deg2rad diag "
    "diag_embed diagflat diagonal diff digamma dist divide dot equal equal_all erf erfinv exp expand expand_as expm1 flatten flip "
    "floor floor_divide floor_mod fmax fmin frac gather gather_nd gcd greater_equal greater_than heaviside histogram hypot "
    "increment index_add index_fill index_put index_sample index_select inner inverse is_complex is_empty is_floating_point "
    "is_integer is_tensor isclose isfinite isinf isnan kron kthvalue lcm lerp less_equal less_than lgamma log log10 log1p log2 "
    "logaddexp logcumsumexp logical_and logical_not logical_or logical_xor logit logsumexp masked_fill masked_select matmul max "
    "maximum mean median min minimum mm mod mode moveaxis multinomial multiplex multiply mv nan_to_num nanmean nanmedian "
    "nanquantile nansum neg nonzero norm not_equal numel outer pow prod put_along_axis quantile rad2deg rank reciprocal remainder "
    "repeat_interleave reshape reverse roll rot90 round rsqrt scale scatter scatter_nd scatter_nd_add sgn shard_index sigmoid sign "
    "sin sinh slice sort split sqrt square squeeze stack stanh std strided_slice subtract sum t take take_along_axis tan tanh "
    "tensordot tile topk trace transpose tril triu trunc unbind unflatten unfold unique unique_consecutive unsqueeze unstack var "
    "view view_as vsplit where "
    "as_strided cholesky_solve combinations cond corrcoef cumulative_trapezoid diagonal_scatter fill_diagonal_tensor frexp i0 i0e "
    "i1 i1e ldexp matrix_power multi_dot multigammaln nextafter polygamma real renorm select_scatter solve trapezoid "
    "vander").split()


def check_inplace(x):
    """ValueError for a leaf that wants a gradient."""
    if not x.stop_gradient and x.is_leaf and _native.eager_noting():
        raise ValueError("Leaf Var (%s) that doesn't stop gradient can't use inplace strategy: work on a copy, or inside "
                         "paddle.no_grad()" % x.name)


def in_place(function, name=None, keeps_shape=True):
    """The form of a function that puts the result into its first argument."""
    @functools.wraps(function)
    def call(x, *args, **kwargs):
        if not isinstance(x, Tensor):
            return function(x, *args, **kwargs)  # programs have no operations in place
        mark = _native.eager_mark()
        out = function(x, *args, **kwargs)
        if keeps_shape and out.shape != x.shape:
            raise ValueError("%s: the shape of the result, %s, is not that of the tensor it should be put into, %s" %
                             (call.__name__, out.shape, x.shape))
        if not x.stop_gradient and x.is_leaf and _native.eager_noting():
            x._take(out._detach(), mark)  # Paddle, too, has written when it complains
            check_inplace(x)
        return x._take(out, mark)

    call.__name__ = call.__qualname__ = name or function.__name__ + "_"
    return call


_MOVE = ("reshape", "squeeze", "unsqueeze", "flatten", "transpose", "t")


def _where_(condition, x, y, name=None):
    """paddle.where, into x."""
    from paddle.tensor.search import where
    check_inplace(x)
    mark = _native.eager_mark()
    return x._take(where(condition, x, y), mark)


def inplace_forms(functions):
    """{name_: function} for what is there."""
    made = {}
    for name in INPLACE:
        if name in functions and name + "_" not in ("where_",):
            made[name + "_"] = in_place(functions[name], name + "_", name not in _MOVE and name != "cast")
    made["where_"] = _where_
    return made


# ---- methods of their own ----


def fill_(self, value):
    """Every element becomes the value."""
    check_inplace(self)
    if self.stop_gradient or not _native.eager_noting():
        _tensor_index._write(self, Ellipsis, value)
        return self
    from paddle.tensor.creation import full_like
    from paddle.tensor.search import where
    mark = _native.eager_mark()
    return self._take(where(full_like(self, False, "bool"), self, full_like(self, value)), mark)


def zero_(self):
    """Every element becomes 0."""
    return fill_(self, 0)


def _drawn(self, out):
    check_inplace(self)
    return self._take(_tensor_math.cast(out, self._dtype), _native.eager_mark())


def uniform_(self, min=-1.0, max=1.0, seed=0, name=None):
    """Filled with numbers between min and max."""
    from paddle.tensor.random import uniform
    return _drawn(self, uniform(self.shape, self.dtype, min, max, seed))


def normal_(self, mean=0.0, std=1.0, name=None):
    """Filled with numbers of a normal distribution."""
    from paddle.tensor.random import gaussian
    return _drawn(self, gaussian(self.shape, mean, std, dtype=self.dtype))


def exponential_(self, lam=1.0, name=None):
    """Filled with numbers of an exponential distribution."""
    return _drawn(self, _native.eager_one("exponential", {"X": self._detach()}, {"lambda": float(lam)}))


def fill_diagonal_(self, value, offset=0, wrap=False, name=None):
    """Every element of the diagonal becomes the value."""
    from paddle.tensor.placing import _fill_diagonal
    return in_place(_fill_diagonal, "fill_diagonal_")(self, value, offset, wrap)


def fill_diagonal_tensor_(self, y, offset=0, dim1=0, dim2=1, name=None):
    """y is put on the diagonal of two axes."""
    from paddle.tensor.placing import fill_diagonal_tensor
    return in_place(fill_diagonal_tensor)(self, y, offset, dim1, dim2)


def get_strides(self):
    """How many elements lie between neighbours of each dimension."""
    from paddle.tensor.placing import _strides
    return _strides(self.shape)


class _native_silence(object):
    """Inside, ops are not recorded on the tape."""

    def __enter__(self):
        self._before = _native.eager_set_noting(False)

    def __exit__(self, *_):
        _native.eager_set_noting(self._before)


def astype(self, dtype):
    """A cast of it."""
    kind = _TYPES.get(dtype)
    if dtype is None:
        raise ValueError("astype: None is no data type")
    if kind is None:
        kind = _TYPES[dtype] = core.BY_DTYPE[_fluid_name(dtype)]
    return _one("cast", {"X": self}, {"in_dtype": core.BY_DTYPE[self._dtype], "out_dtype": kind})


#: what names a type, and the type
_TYPES = dict(core.BY_DTYPE)
_TYPES.update({float: core.BY_DTYPE["float64"], int: core.BY_DTYPE["int64"], bool: core.BY_DTYPE["bool"],
               "float": core.BY_DTYPE["float64"], "int": core.BY_DTYPE["int64"]})


def to(self, *args, **kwargs):
    """Converts to another type (dtype=, or that of another tensor); a place is accepted, and stays the CPU."""
    dtype, device = kwargs.pop("dtype", None), kwargs.pop("device", None)
    kwargs.pop("blocking", None)
    if kwargs:
        raise TypeError("to() got an unexpected keyword argument %r" % sorted(kwargs)[0])
    for arg in args:
        if isinstance(arg, Tensor):
            dtype = arg.dtype
        elif isinstance(arg, core.VarType) or isinstance(arg, str) and arg in core.BY_DTYPE:
            dtype = arg
        elif isinstance(arg, str) or isinstance(arg, core._Place):
            device = arg
    if isinstance(device, str) and not device.startswith("cpu") or isinstance(device, core.CUDAPlace):
        raise RuntimeError("Tensor.to: Skiff computes on the CPU; there is no device %s" % device)
    return self if dtype is None or dtype == self.dtype or dtype == self._dtype else astype(self, dtype)


def _T(self):
    from paddle.tensor.manipulation import transpose
    return transpose(self, list(range(self.ndim))[::-1])


def clone(self):
    """A copy, with a gradient that goes through."""
    return _one("assign", {"X": self})


def install(functions):
    """Puts functions of paddle.tensor on Tensor; called once, when they are loaded."""
    core.VarType._modern = True
    for name in METHODS:
        if name in functions:
            setattr(Tensor, name, functions[name])
    for name, method in inplace_forms(functions).items():
        if name != "where_":
            setattr(Tensor, name, method)
    _tensor_math.install()
    for method in (fill_, zero_, uniform_, normal_, exponential_, fill_diagonal_, fill_diagonal_tensor_, get_strides, astype,
                   to, clone):
        setattr(Tensor, method.__name__, method)
    Tensor.__getitem__, Tensor.__setitem__ = _tensor_index.getitem, _tensor_index.setitem
    Tensor.T = property(_T)
