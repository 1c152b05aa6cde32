"""paddle.tensor: functions that run ops or append them to the program, and the methods of Tensors and Variables made of them."""
from paddle import _names, _tensor_methods
from paddle._tensor import Tensor  # noqa: F401 (paddle.Tensor: with its methods)
from paddle._v2 import TENSOR
from paddle.tensor import (array, attribute, creation, elements, linalg, logic, manipulation, math, matrices, picking, placing,
                           random, search, shard, special, stat, statistics)

#: module -> functions: those of paddle.*, and those that only paddle.tensor.* has
FUNCTIONS = dict(TENSOR)
for _module, _more in (("creation", " create_tensor create_global_var"), ("math", " sigmoid"), ("random", " gaussian"),
                       ("statistics", " cov corrcoef"), ("placing", " fill_diagonal_tensor"),
                       ("matrices", " cholesky cholesky_solve cond matrix_power multi_dot solve"),
                       ("array", "create_array array_write array_read array_length tensor_array_to_tensor")):
    FUNCTIONS[_module] = FUNCTIONS.get(_module, "") + _more

for _module, _functions in FUNCTIONS.items():
    for _name in _functions.split():
        globals()[_name] = getattr(globals()[_module], _name)

#: where Paddle's own modules have them
for _own, _theirs in ((special, math), (statistics, math), (placing, manipulation), (matrices, linalg)):
    for _name in FUNCTIONS[_own.__name__.rpartition(".")[2]].split():
        setattr(_theirs, _name, getattr(_own, _name))
manipulation.tensor_array_to_tensor = array.tensor_array_to_tensor

#: functions of one tensor (the first argument) that Variables have as methods
METHODS = (
    "abs ceil cos erf exp floor log log1p log2 log10 reciprocal round rsqrt sigmoid sign sin sqrt square tanh add subtract "
    "multiply divide maximum minimum mod remainder floor_divide pow neg scale clip sum max min amax amin prod all any logsumexp "
    "cumsum outer lerp equal not_equal less_than less_equal greater_than greater_equal logical_and logical_or logical_xor "
    "logical_not bitwise_and bitwise_or bitwise_xor cast reshape reshape_ unsqueeze unsqueeze_ squeeze squeeze_ flatten unstack "
    "unbind split chunk strided_slice gather gather_nd scatter tile expand broadcast_to expand_as roll flip matmul mm bmm dot "
    "norm t transpose tril triu clone argmax argmin argsort sort topk where nonzero masked_select index_select mean var std "
    "numel rank is_floating_point is_integer").split()

METHODS += [_name for _module in ("statistics", "special", "placing", "matrices") for _name in FUNCTIONS[_module].split()
            if _name not in ("logspace", "finfo", "tolist", "multi_dot")]

_tensor_methods.install(globals())
globals().update(_tensor_methods.inplace_forms(globals()))

__getattr__ = _names.guard(__name__)
