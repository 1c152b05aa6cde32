/* paddle.*: new tensors. Notation: calls/row.h. */
FUNCTION("full", "shape, fill_value, dtype=None, name=None",
         "aside fill_constant if number(fill_value); as fill_constant if number(fill_value); "
         "fill_constant: shape|ShapeTensor|ShapeTensorList=shape dtype=dtype(dtype,'default') "
         "value=value(fill_value) str_value=value_text(fill_value,dtype) force_cpu=False -> Out! "
         "if number(fill_value); "
         "fill_constant: shape|ShapeTensor|ShapeTensorList=shape dtype=dtype(dtype,'default') "
         "ValueTensor=fill_value single(fill_value) -> Out! as full if tensor(fill_value)",
         "One value everywhere: a number, or a tensor of one element.")
FUNCTION("ones", "shape, dtype=None, name=None",
         "aside fill_constant; as fill_constant; fill_constant: "
         "shape|ShapeTensor|ShapeTensorList=shape dtype=dtype(dtype,'default') value=value(1.0) "
         "str_value=value_text(1.0,dtype) force_cpu=False -> Out!",
         "1 everywhere.")
FUNCTION("zeros", "shape, dtype=None, name=None",
         "aside fill_constant; as fill_constant; fill_constant: "
         "shape|ShapeTensor|ShapeTensorList=shape dtype=dtype(dtype,'default') value=value(0.0) "
         "str_value=value_text(0.0,dtype) force_cpu=False -> Out!",
         "0 everywhere.")
FUNCTION("full_like", "x, fill_value, dtype=None, name=None",
         "fill_any_like: X=x value=fill_value dtype=dtype(dtype,x) -> Out! as full_like",
         "One value, in the shape of x.")
FUNCTION("ones_like", "x, dtype=None, name=None",
         "fill_any_like: X=x value=1.0 dtype=dtype(dtype,x) -> Out! as full_like",
         "1 everywhere, in the shape of x.")
FUNCTION("zeros_like", "x, dtype=None, name=None",
         "fill_any_like: X=x value=0.0 dtype=dtype(dtype,x) -> Out! as full_like",
         "0 everywhere, in the shape of x.")
FUNCTION("clone", "x, name=None", "assign: X=x aside assign", "A copy.")
FUNCTION("tril", "x, diagonal=0, name=None",
         "tril_triu: X=x diagonal=diagonal lower=True matrix(x) named tril",
         "The lower triangle; zero above the diagonal.")
FUNCTION("triu", "x, diagonal=0, name=None",
         "tril_triu: X=x diagonal=diagonal lower=False matrix(x) named triu",
         "The upper triangle; zero below the diagonal.")
