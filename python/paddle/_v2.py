"""The names that `paddle` itself has in 2.x, with the module each comes from. Nothing is imported here."""

#: functions of tensors by module
TENSOR = {
    "attribute": "shape rank is_floating_point is_integer",
    "creation": "full ones zeros full_like ones_like zeros_like arange assign to_tensor clone tril triu "
                "create_parameter complex",
    "linalg": "matmul mm bmm dot norm t transpose",
    "logic": "equal not_equal less_than less_equal greater_than greater_equal logical_and logical_or logical_xor logical_not "
             "bitwise_and bitwise_or bitwise_xor is_tensor",
    "manipulation": "cast concat reshape reshape_ unsqueeze unsqueeze_ squeeze squeeze_ flatten stack unstack unbind split "
                    "chunk slice strided_slice gather gather_nd scatter tile expand broadcast_to expand_as roll flip",
    "math": "abs ceil cos erf exp floor log log1p log2 log10 reciprocal round rsqrt sign sin sqrt square tanh add subtract "
            "multiply divide maximum minimum mod remainder floor_mod floor_divide pow neg scale clip add_n sum max min amax "
            "amin prod all any logsumexp cumsum increment outer einsum lerp isfinite",
    "random": "uniform rand randn standard_normal normal randint randperm multinomial",
    "search": "argmax argmin argsort sort topk where nonzero masked_select index_select",
    "stat": "mean var std numel",
    "shard": "shard_index",
}

WHERE = {name: "paddle.tensor." + module for module, names in TENSOR.items() for name in names.split()}
for _name in ("enable_static disable_static in_dynamic_mode get_default_dtype set_default_dtype seed no_grad is_grad_enabled "
              "set_grad_enabled ParamAttr save load CPUPlace CUDAPlace CUDAPinnedPlace get_flags set_flags iinfo").split():
    WHERE[_name] = "paddle.framework"
for _name in ("set_device get_device is_compiled_with_cuda is_compiled_with_rocm is_compiled_with_xpu is_compiled_with_npu "
              "is_compiled_with_cinn is_compiled_with_distribute is_compiled_with_custom_device get_cudnn_version").split():
    WHERE[_name] = "paddle.device"
for _name in "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64".split():
    WHERE[_name] = "paddle._dtypes"
WHERE.update({"Tensor": "paddle.fluid.framework:Variable", "DataParallel": "paddle.distributed", "core": "paddle.base",
              "dtype": "paddle.fluid.core:VarType"})

SUBMODULES = ("static", "nn", "optimizer", "tensor", "io", "metric", "regularizer", "utils", "framework", "base", "device",
              "distributed", "incubate", "geometric", "common_ops_import")
