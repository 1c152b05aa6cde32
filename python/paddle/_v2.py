"""The names that `paddle` itself has in 2.x, with the module each comes from. Nothing is imported here."""

#: functions of tensors by module
TENSOR = {
    "attribute": "shape rank is_floating_point is_integer",
    "creation": "full ones zeros full_like ones_like zeros_like arange assign to_tensor clone tril triu "
                "create_parameter complex",
    "linalg": "matmul mm bmm dot norm t transpose",
    "logic": "equal not_equal less_than less_equal greater_than greater_equal logical_and logical_or logical_xor logical_not "
             "bitwise_and bitwise_or bitwise_xor is_tensor is_empty",
    "manipulation": "cast concat reshape unsqueeze squeeze flatten stack unstack unbind split "
                    "chunk slice strided_slice gather gather_nd scatter tile expand broadcast_to broadcast_shape broadcast_tensors "
                    "expand_as roll flip",
    "elements": "acos asin atan sinh cosh tan asinh acosh atanh expm1 log10 trunc frac bitwise_not stanh logit isnan isinf isfinite "
                "isclose allclose equal_all fmax fmin atan2 lerp kron mv addmm inner cross dist cumprod logcumsumexp multiplex "
                "bincount histogram count_nonzero nan_to_num",
    "picking": "diag diag_embed diagonal trace eye tril_indices triu_indices linspace meshgrid empty empty_like crop reverse "
               "rot90 moveaxis repeat_interleave kthvalue mode unique unique_consecutive searchsorted bucketize "
               "scatter_nd_add scatter_nd index_sample take_along_axis put_along_axis index_add index_put index_fill masked_fill",
    "math": "abs ceil cos erf exp floor log log1p log2 reciprocal round rsqrt sign sin sqrt square tanh add subtract "
            "multiply divide maximum minimum mod remainder floor_mod floor_divide pow neg scale clip add_n sum max min amax "
            "amin prod all any logsumexp cumsum increment outer einsum",
    "random": "uniform rand randn standard_normal normal randint randint_like randperm multinomial bernoulli poisson",
    "search": "argmax argmin argsort sort topk where nonzero masked_select index_select",
    "stat": "mean var std numel",
    "shard": "shard_index",
    "statistics": "median nanmedian quantile nanquantile nansum nanmean cummax cummin",
    "special": "lgamma digamma erfinv i0 i0e i1 i1e polygamma multigammaln rad2deg deg2rad hypot logaddexp heaviside gcd lcm ldexp "
               "frexp nextafter trapezoid cumulative_trapezoid diff logspace vander",
    "placing": "diagflat diagonal_scatter select_scatter as_strided unfold view view_as unflatten take atleast_1d atleast_2d "
               "atleast_3d vsplit tensordot combinations cdist renorm tolist finfo is_complex real sgn",
    "matrices": "inverse",
}

WHERE = {name: "paddle.tensor." + module for module, names in TENSOR.items() for name in names.split()}
#: those that have a form in place, under the name with a _ behind it
INPLACE = (
    "abs acos acosh add addmm asin asinh atan atanh bitwise_and bitwise_not bitwise_or bitwise_xor cast ceil clip cos cosh cumprod "
    "cumsum digamma divide equal erf erfinv exp expm1 flatten floor floor_divide floor_mod frac gcd greater_equal greater_than hypot "
    "i0 index_add index_fill index_put lcm ldexp lerp less_equal less_than lgamma log log10 log1p log2 logical_and logical_not "
    "logical_or logical_xor logit masked_fill mod multigammaln multiply nan_to_num neg not_equal polygamma pow put_along_axis reciprocal "
    "remainder renorm reshape round rsqrt scale scatter sigmoid sin sinh sqrt square squeeze subtract t tan tanh transpose tril "
    "triu trunc unsqueeze where").split()
for _name in INPLACE:
    if _name in WHERE:
        WHERE[_name + "_"] = "paddle.tensor"
for _name in ("enable_static disable_static in_dynamic_mode get_default_dtype set_default_dtype seed get_rng_state "
              "set_rng_state get_cuda_rng_state set_cuda_rng_state no_grad is_grad_enabled "
              "set_grad_enabled disable_signal_handler LazyGuard ParamAttr save load CPUPlace CUDAPlace CUDAPinnedPlace get_flags set_flags iinfo").split():
    WHERE[_name] = "paddle.framework"
for _name in ("set_device get_device is_compiled_with_cuda is_compiled_with_rocm is_compiled_with_ipu is_compiled_with_xpu is_compiled_with_npu "
              "is_compiled_with_cinn is_compiled_with_distribute is_compiled_with_custom_device get_cudnn_version").split():
    WHERE[_name] = "paddle.device"
for _name in "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64".split():
    WHERE[_name] = "paddle._dtypes"
WHERE.update({"Tensor": "paddle._tensor", "grad": "paddle.autograd", "set_printoptions": "paddle._tensor_print",
              "enable_grad": "paddle.framework", "DataParallel": "paddle.distributed", "core": "paddle.base",
              "dtype": "paddle.fluid.core:VarType"})

for _name in "Model summary flops".split():
    WHERE[_name] = "paddle.hapi"

SUBMODULES = ("static", "nn", "optimizer", "tensor", "io", "metric", "regularizer", "utils", "framework", "base", "device",
              "distributed", "incubate", "autograd", "jit", "hapi", "amp", "callbacks", "geometric", "distribution", "common_ops_import",
              "inference", "linalg", "profiler", "sysconfig", "text", "batch", "reader")
