/* paddle.*: shapes, parts, orders. Notation: calls/row.h. */
FUNCTION("cast", "x, dtype", "cast: X=x in_dtype=dtype_of(x) out_dtype=dtype(dtype)",
         "x as another type.")
FUNCTION("concat", "x, axis=0, name=None", "concat: X=x axis|AxisTensor!=axis",
         "The inputs one after the other along the axis.")
FUNCTION(
    "reshape", "x, shape, name=None",
    "as reshape2; reshape2: X=x shape|Shape!|ShapeTensor=shape one_unknown(shape) -> Out XShape~",
    "Another shape for the same values: -1 is what remains, 0 what x has there.")
FUNCTION("transpose", "x, perm, name=None", "transpose2: X=x axis=order(x,perm) -> Out XShape~",
         "Dimensions in another order.")
FUNCTION("unsqueeze", "x, axis, name=None",
         "unsqueeze2: X=x axes|AxesTensor!=axis -> Out XShape~ as unsqueeze2",
         "New dimensions of size 1.")
FUNCTION("squeeze", "x, axis=None, name=None", "squeeze2: X=x axes=list(axis) -> Out XShape~",
         "Without dimensions of size 1 (None: all of them).")
FUNCTION("flatten", "x, start_axis=0, stop_axis=-1, name=None",
         "flatten_contiguous_range: X=x start_axis=flat_start(x,start_axis,stop_axis) "
         "stop_axis=flat_stop(x,start_axis,stop_axis) -> Out XShape~",
         "The dimensions from start_axis to stop_axis as one.")
FUNCTION("stack", "x, axis=0, name=None", "stack: X=x axis=axis -> Y",
         "The inputs along a new axis.")
FUNCTION("unstack", "x, axis=0, num=None",
         "unstack: X=x axis=axis num=size(x,axis,num) -> Y*size(x,axis,num)",
         "The slices along the axis, without it.")
FUNCTION("unbind", "input, axis=0", "unbind: X=input axis=axis -> Out*size(input,axis)",
         "The slices along the axis, without it.")
FUNCTION("split", "x, num_or_sections, axis=0, name=None",
         "split: X=x num=parts(num_or_sections) sections=sections(num_or_sections) "
         "axis=from_start(x,axis) -> Out*count(x,num_or_sections,axis) as split",
         "Equal parts, or parts of the given sizes, along the axis.")
FUNCTION("chunk", "x, chunks, axis=0, name=None",
         "split: X=x num=parts(chunks) sections=sections(chunks) axis=from_start(x,axis) -> "
         "Out*count(x,chunks,axis) as split",
         "Equal parts along the axis.")
FUNCTION(
    "slice", "input, axes, starts, ends",
    "slice: Input=input axes=axes decrease_axis=[] starts|StartsTensor!|StartsTensorList=starts "
    "ends|EndsTensor!|EndsTensorList=ends infer_flags=flags(axes,starts,ends)",
    "input from starts to ends along the axes.")
FUNCTION("strided_slice", "x, axes, starts, ends, strides, name=None",
         "strided_slice: Input=x axes=axes starts|StartsTensor!|StartsTensorList=starts "
         "ends|EndsTensor!|EndsTensorList=ends strides|StridesTensor!|StridesTensorList=strides "
         "infer_flags=flags(axes,starts,ends,strides)",
         "slice with steps.")
FUNCTION("gather", "x, index, axis=None, name=None", "gather: X=x Index=index axis|Axis=axis",
         "Rows (or other slices) by number.")
FUNCTION("gather_nd", "x, index, name=None", "gather_nd: X=x Index=index",
         "Slices by numbers in several dimensions.")
FUNCTION("scatter", "x, index, updates, overwrite=True, name=None",
         "scatter: X=x Ids=index Updates=updates overwrite=overwrite",
         "x with rows replaced (overwrite) or added to.")
FUNCTION("tile", "x, repeat_times, name=None",
         "tile: X=x repeat_times|RepeatTimes!|repeat_times_tensor=repeat_times "
         "repeat_times=unknown(repeat_times)",
         "x repeated along its dimensions.")
FUNCTION("expand broadcast_to", "x, shape, name=None",
         "expand_v2: X=x shape|Shape!|expand_shapes_tensor=shape",
         "x repeated to the shape; -1 keeps a dimension.")
FUNCTION("expand_as", "x, y, name=None", "expand_as_v2: X=x Y=y target_shape=shape(y)",
         "x repeated to the shape of y.")
FUNCTION("roll", "x, shifts, axis=None, name=None", "roll: X=x axis=list(axis) shifts=shifts",
         "Elements moved along the axis, those moved past one end re-enter at the other.")
FUNCTION("flip", "x, axis, name=None", "flip: X=x axis=axis",
         "Elements in opposite order along the axes.")
FUNCTION("t", "input, name=None",
         "transpose2: X=input axis=[1,0] only_matrix(input) -> Out XShape~ if matrix(input)",
         "The transpose of a matrix.")
