/* paddle.*: diagonals, picking, sorting. Notation: calls/row.h. */
FUNCTION("diag", "x, offset=0, padding_value=0, name=None",
         "diag_v2: X=x offset=offset padding_value=padding_value -> Out! as diag_v2",
         "A matrix with the vector x on a diagonal, or the diagonal of the matrix x.")
FUNCTION("diag_embed", "input, offset=0, dim1=-2, dim2=-1",
         "diag_embed: Input=input offset=offset dim1=dim1 dim2=dim2 -> Out!",
         "The last dimension on the diagonal of two new ones.")
FUNCTION("diagonal", "x, offset=0, axis1=0, axis2=1, name=None",
         "diagonal: Input=x offset=offset axis1=axis1 axis2=axis2",
         "A diagonal of two axes, as the last one.")
FUNCTION("trace", "x, offset=0, axis1=0, axis2=1, name=None",
         "trace: Input=x offset=offset axis1=axis1 axis2=axis2", "The sum of a diagonal.")
FUNCTION("eye", "num_rows, num_columns=None, dtype=None, name=None",
         "eye: num_rows=num_rows num_columns=or(num_columns,num_rows) dtype=dtype(dtype,'default') "
         "-> Out!",
         "Ones on the diagonal.")
FUNCTION("tril_indices", "row, col, offset=0, dtype='int64'",
         "tril_indices: rows=row cols=or(col,row) offset=offset dtype=dtype(dtype) -> out!",
         "Rows and columns of the lower triangle.")
FUNCTION("triu_indices", "row, col=None, offset=0, dtype='int64'",
         "triu_indices: row=row col=or(col,row) offset=offset dtype=dtype(dtype) -> out!",
         "Rows and columns of the upper triangle.")
FUNCTION("empty", "shape, dtype=None, name=None",
         "aside fill_constant; as fill_constant; fill_constant: "
         "shape|ShapeTensor|ShapeTensorList=shape dtype=dtype(dtype,'default') value=value(0) "
         "str_value=value_text(0,dtype) force_cpu=False -> Out!",
         "Of a shape; zeros here.")
FUNCTION("empty_like", "x, dtype=None, name=None",
         "fill_any_like: X=x value=0.0 dtype=dtype(dtype,x) -> Out! as full_like",
         "Of the shape of x; zeros here.")
FUNCTION("reverse", "x, axis, name=None", "flip: X=x axis=axis as flip",
         "Elements in opposite order along the axes.")
FUNCTION("repeat_interleave", "x, repeats, axis=None, name=None",
         "flatten_contiguous_range: X=x start_axis=0 stop_axis=last(x) -> Out XShape~ aside "
         "flatten if none(axis); repeat_interleave: X=. RepeatsTensor=repeats dim=or(axis,0) "
         "Repeats=or(repeats,0) as repeat_interleave",
         "Every slice along the axis repeated; repeats: a number, or one for each slice.")
FUNCTION("kthvalue", "x, k, axis=None, keepdim=False, name=None",
         "kthvalue: X=x k=k axis=or(axis,-1) keepdim=keepdim -> Out Indices:int64!",
         "(the k-th smallest along the axis, its place)")
FUNCTION("mode", "x, axis=-1, keepdim=False, name=None",
         "mode: X=x axis=axis keepdim=keepdim -> Out Indices:int64!",
         "(the most frequent along the axis, its last place)")
FUNCTION("searchsorted", "sorted_sequence, values, out_int32=False, right=False, name=None",
         "searchsorted: SortedSequence=sorted_sequence Values=values out_int32=out_int32 "
         "right=right -> Out!",
         "How many elements of the sorted row lie before each value.")
FUNCTION("bucketize", "x, sorted_sequence, out_int32=False, right=False, name=None",
         "searchsorted: SortedSequence=sorted_sequence Values=x out_int32=out_int32 right=right -> "
         "Out! as searchsorted",
         "searchsorted, with the values first.")
FUNCTION("scatter_nd_add", "x, index, updates, name=None",
         "scatter_nd_add: X=x Index=index Updates=updates", "x with updates added at coordinates.")
FUNCTION("index_sample", "x, index", "index_sample: X=x Index=index",
         "Elements of every row by number.")
FUNCTION("index_add", "x, index, axis, value, name=None",
         "index_add: X=x Index=index AddValue=value axis=axis",
         "x with value added to slices along the axis.")
FUNCTION("index_put", "x, indices, value, accumulate=False, name=None",
         "index_put: x=x indices=indices value=value accumulate=accumulate -> out",
         "x with value at coordinates, or where a mask holds.")
