/* paddle.*: more functions of single elements, comparisons with tolerances, sums of
 * products. Notation: calls/row.h. */
FUNCTION("acos", "x, name=None", "acos: X=x", "acos of every element.")
FUNCTION("asin", "x, name=None", "asin: X=x", "asin of every element.")
FUNCTION("atan", "x, name=None", "atan: X=x", "atan of every element.")
FUNCTION("sinh", "x, name=None", "sinh: X=x", "sinh of every element.")
FUNCTION("cosh", "x, name=None", "cosh: X=x", "cosh of every element.")
FUNCTION("tan", "x, name=None", "tan: X=x", "tan of every element.")
FUNCTION("asinh", "x, name=None", "asinh: X=x", "asinh of every element.")
FUNCTION("acosh", "x, name=None", "acosh: X=x", "acosh of every element.")
FUNCTION("atanh", "x, name=None", "atanh: X=x", "atanh of every element.")
FUNCTION("expm1", "x, name=None", "expm1: X=x", "expm1 of every element.")
FUNCTION("log10", "x, name=None", "log10: X=x", "log10 of every element.")
FUNCTION("trunc", "x, name=None", "trunc: X=x", "trunc of every element.")
FUNCTION("bitwise_not", "x, name=None", "bitwise_not: X=x", "bitwise_not of every element.")
FUNCTION("stanh", "x, scale_a=0.67, scale_b=1.7159, name=None",
         "stanh: X=x scale_a=scale_a scale_b=scale_b", "scale_b * tanh(scale_a * x)")
FUNCTION("logit", "x, eps=None, name=None", "logit: X=x eps=or(eps,0.0)",
         "log(x / (1 - x)), x kept within [eps, 1 - eps].")
FUNCTION("isnan", "x, name=None", "isnan_v2: X=x -> Out! as isnan_v2",
         "Whether every element is NaN.")
FUNCTION("isinf", "x, name=None", "isinf_v2: X=x -> Out! as isinf_v2",
         "Whether every element is infinite.")
FUNCTION("isfinite", "x, name=None", "isfinite_v2: X=x -> Out! as isfinite_v2",
         "Whether every element is finite.")
FUNCTION("isclose", "x, y, rtol=1e-05, atol=1e-08, equal_nan=False, name=None",
         "isclose: Input=x Other=y rtol=text(rtol) atol=text(atol) equal_nan=equal_nan -> Out!",
         "|x - y| <= atol + rtol * |y|, element by element.")
FUNCTION("allclose", "x, y, rtol=1e-05, atol=1e-08, equal_nan=False, name=None",
         "allclose: Input=x Other=y rtol=text(rtol) atol=text(atol) equal_nan=equal_nan -> Out!",
         "|x - y| <= atol + rtol * |y|, everywhere.")
FUNCTION("equal_all", "x, y, name=None", "equal_all: X=x Y=y -> Out!",
         "Whether shapes and all values are equal.")
FUNCTION("fmax", "x, y, name=None", "elementwise_fmax: X=x Y=y as elementwise_fmax",
         "fmax of two tensors.")
FUNCTION("fmin", "x, y, name=None", "elementwise_fmin: X=x Y=y as elementwise_fmin",
         "fmin of two tensors.")
FUNCTION("atan2", "x, y, name=None", "atan2: X1=x X2=y", "atan2 of two tensors.")
FUNCTION("kron", "x, y, name=None", "kron: X=x Y=y", "kron of two tensors.")
FUNCTION("mv", "x, vec, name=None", "mv: X=x Vec=vec", "A matrix times a vector.")
FUNCTION("lerp", "x, y, weight, name=None", "lerp: X=x Y=y Weight=fill(weight,x,[1])",
         "x + weight * (y - x)")
FUNCTION("addmm", "input, x, y, beta=1.0, alpha=1.0, name=None",
         "addmm: Input=input X=x Y=y Alpha=alpha Beta=beta", "beta * input + alpha * x @ y")
FUNCTION("cross", "x, y, axis=9, name=None", "cross: X=x Y=y dim=axis",
         "The vector product along a dimension of 3 (9: the first such).")
FUNCTION("dist", "x, y, p=2, name=None", "dist: X=x Y=y p=p", "The p-norm of x - y.")
FUNCTION("frac", "x, name=None",
         "trunc: X=x aside trunc; elementwise_sub: X=x Y=. axis=-1 named elementwise_sub",
         "x without its whole part.")
FUNCTION("cumprod", "x, dim=None, dtype=None, name=None",
         "flatten_contiguous_range: X=x start_axis=0 stop_axis=last(x) -> Out XShape~ aside "
         "flatten if none(dim); cast: X=. in_dtype=dtype_of(x) out_dtype=dtype(dtype) aside cast "
         "if dtype; cumprod: X=. dim=or(dim,0) as cumprod",
         "Running products along a dimension.")
FUNCTION("logcumsumexp", "x, axis=None, dtype=None, name=None",
         "cast: X=x in_dtype=dtype_of(x) out_dtype=dtype(dtype) aside cast if dtype; logcumsumexp: "
         "X=. axis=axis flatten=missing(axis) as logcumsumexp",
         "Running log(sum(exp(x))) along the axis (None: of the flattened input).")
FUNCTION("multiplex", "inputs, index, name=None", "multiplex: X=inputs Ids=index",
         "Row i of tensor index[i] of the inputs.")
FUNCTION("bincount", "x, weights=None, minlength=0, name=None",
         "bincount: X=x Weights=weights minlength=minlength -> Out!",
         "How often every number occurs, or the sums of its weights.")
FUNCTION("histogram", "input, bins=100, min=0, max=0, name=None",
         "histogram: X=input bins=bins min=min max=max -> Out:int64!",
         "Counts in equal parts of [min, max]; both 0: of the input's own range.")
FUNCTION("count_nonzero", "x, axis=None, keepdim=False, name=None",
         "cast: X=x in_dtype=dtype_of(x) out_dtype=dtype('bool') aside cast; cast: X=. "
         "in_dtype=dtype('bool') out_dtype=dtype('int64') aside cast; reduce_sum: X=. "
         "dim=axes(x,axis) keep_dim=keepdim reduce_all=whole_sum(x,axis) as sum",
         "How many elements are not zero.")
