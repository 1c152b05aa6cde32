/* paddle.*: arithmetic, element by element; reductions. Notation: calls/row.h. */
FUNCTION("abs", "x, name=None", "abs: X=x", "abs of every element.")
FUNCTION("ceil", "x, name=None", "ceil: X=x", "ceil of every element.")
FUNCTION("cos", "x, name=None", "cos: X=x", "cos of every element.")
FUNCTION("erf", "x, name=None", "erf: X=x", "erf of every element.")
FUNCTION("floor", "x, name=None", "floor: X=x", "floor of every element.")
FUNCTION("log", "x, name=None", "log: X=x", "log of every element.")
FUNCTION("log1p", "x, name=None", "log1p: X=x", "log1p of every element.")
FUNCTION("log2", "x, name=None", "log2: X=x", "log2 of every element.")
FUNCTION("reciprocal", "x, name=None", "reciprocal: X=x", "reciprocal of every element.")
FUNCTION("round", "x, name=None", "round: X=x", "round of every element.")
FUNCTION("rsqrt", "x, name=None", "rsqrt: X=x", "rsqrt of every element.")
FUNCTION("sigmoid", "x, name=None", "sigmoid: X=x", "sigmoid of every element.")
FUNCTION("sign", "x, name=None", "sign: X=x", "sign of every element.")
FUNCTION("sin", "x, name=None", "sin: X=x", "sin of every element.")
FUNCTION("sqrt", "x, name=None", "sqrt: X=x", "sqrt of every element.")
FUNCTION("square", "x, name=None", "square: X=x", "square of every element.")
FUNCTION("tanh", "x, name=None", "tanh: X=x", "tanh of every element.")
FUNCTION(
    "add", "x, y, name=None", "elementwise_add: X=x Y=y axis=-1 named elementwise_add",
    "add, element by element; the smaller operand is repeated along missing or unit dimensions.")
FUNCTION("subtract", "x, y, name=None", "elementwise_sub: X=x Y=y axis=-1 named elementwise_sub",
         "subtract, element by element; the smaller operand is repeated along missing or unit "
         "dimensions.")
FUNCTION("multiply", "x, y, name=None", "elementwise_mul: X=x Y=y axis=-1 named elementwise_mul",
         "multiply, element by element; the smaller operand is repeated along missing or unit "
         "dimensions.")
FUNCTION(
    "divide", "x, y, name=None", "elementwise_div: X=x Y=y axis=-1 named elementwise_div",
    "divide, element by element; the smaller operand is repeated along missing or unit dimensions.")
FUNCTION("maximum", "x, y, name=None", "elementwise_max: X=x Y=y axis=-1 named elementwise_max",
         "maximum, element by element; the smaller operand is repeated along missing or unit "
         "dimensions.")
FUNCTION("minimum", "x, y, name=None", "elementwise_min: X=x Y=y axis=-1 named elementwise_min",
         "minimum, element by element; the smaller operand is repeated along missing or unit "
         "dimensions.")
FUNCTION(
    "mod remainder floor_mod", "x, y, name=None",
    "elementwise_mod: X=x Y=y axis=-1 named elementwise_mod",
    "mod, element by element; the smaller operand is repeated along missing or unit dimensions.")
FUNCTION("floor_divide", "x, y, name=None",
         "elementwise_floordiv: X=x Y=y axis=-1 named elementwise_floordiv",
         "floor_divide, element by element; the smaller operand is repeated along missing or unit "
         "dimensions.")
FUNCTION("pow", "x, y, name=None",
         "elementwise_pow: X=x Y=y axis=-1 as elementwise_pow if tensor(y); pow: X=x factor=y as "
         "pow if number(y)",
         "x to the power y (a number or a tensor).")
FUNCTION("scale", "x, scale=1.0, bias=0.0, bias_after_scale=True, act=None, name=None",
         "scale: X=x bias=bias bias_after_scale=bias_after_scale scale|ScaleTensor=scale; @act: "
         "X=. if act",
         "scale * x + bias, or scale * (x + bias).")
FUNCTION("clip", "x, min=None, max=None, name=None",
         "clip: X=x min=or(min,-3.4028234663852886e+38) max=or(max,3.4028234663852886e+38) "
         "Min!=min Max!=max",
         "Every element between min and max.")
FUNCTION("add_n", "inputs, name=None", "sum: X=inputs use_mkldnn=False", "The sum of all inputs.")
FUNCTION("max", "x, axis=None, keepdim=False, name=None",
         "reduce_max: X=x dim=axes(x,axis) keep_dim=keepdim reduce_all=whole(x,axis)",
         "The largest value over the axes.")
FUNCTION("min", "x, axis=None, keepdim=False, name=None",
         "reduce_min: X=x dim=axes(x,axis) keep_dim=keepdim reduce_all=whole(x,axis)",
         "The smallest value over the axes.")
FUNCTION("amax", "x, axis=None, keepdim=False, name=None",
         "reduce_amax: X=x dim=axes(x,axis) keep_dim=keepdim reduce_all=whole(x,axis)",
         "The largest value over the axes; equal ones share its gradient.")
FUNCTION("amin", "x, axis=None, keepdim=False, name=None",
         "reduce_amin: X=x dim=axes(x,axis) keep_dim=keepdim reduce_all=whole(x,axis)",
         "The smallest value over the axes; equal ones share its gradient.")
FUNCTION("all", "x, axis=None, keepdim=False, name=None",
         "reduce_all: X=x dim=axes(x,axis) keep_dim=keepdim reduce_all=whole(x,axis)",
         "Whether all values over the axes are true.")
FUNCTION("any", "x, axis=None, keepdim=False, name=None",
         "reduce_any: X=x dim=axes(x,axis) keep_dim=keepdim reduce_all=whole(x,axis)",
         "Whether any value over the axes is true.")
FUNCTION("sum", "x, axis=None, dtype=None, keepdim=False, name=None",
         "reduce_sum: X=x dim=axes(x,axis) keep_dim=keepdim reduce_all=whole_sum(x,axis) "
         "in_dtype=dtype_if(dtype,x) out_dtype=dtype(dtype)",
         "The sum over the axes (None: over everything).")
FUNCTION("logsumexp", "x, axis=None, keepdim=False, name=None",
         "logsumexp: X=x axis=list(axis,[0]) keepdim=keepdim reduce_all=whole(x,axis)",
         "log(sum(exp(x))) over the axes.")
FUNCTION("increment", "x, value=1.0, name=None", "increment: X=x step=value -> Out=x",
         "x += value, in place.")
FUNCTION("exp", "x, name=None",
         "cast: X=x in_dtype=dtype_of(x) out_dtype=dtype('float32') aside cast if whole(x); exp: "
         "X=. as exp",
         "exp of every element; whole numbers become floats.")
FUNCTION("neg", "x, name=None", "scale: X=x bias=0.0 bias_after_scale=True scale=-1.0 as scale",
         "-x")
FUNCTION(
    "prod", "x, axis=None, keepdim=False, dtype=None, name=None",
    "cast: X=x in_dtype=dtype_of(x) out_dtype=dtype(dtype) aside cast if other(dtype); "
    "reduce_prod: X=. dim=axes(x,axis) keep_dim=keepdim reduce_all=whole(x,axis) as reduce_prod",
    "The product over the axes.")
FUNCTION("cumsum", "x, axis=None, dtype=None, name=None",
         "cast: X=x in_dtype=dtype_of(x) out_dtype=dtype(dtype) aside cast if other(dtype); "
         "cumsum: X=. flatten=missing(axis) axis=axis as cumsum",
         "Running sums along the axis (None: of the flattened input).")
FUNCTION("outer", "x, y, name=None",
         "call reshape: x=x shape=[-1,1] keep left; call reshape: x=y shape=[1,-1] keep right; "
         "matmul_v2: X=left Y=right as outer",
         "The product of every element of x with every element of y.")
