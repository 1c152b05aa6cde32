/* paddle.*: finding and choosing. Notation: calls/row.h. */
FUNCTION("argmax", "x, axis=None, keepdim=False, dtype='int64', name=None",
         "arg_max: X=x axis=or(axis,0) flatten=missing(axis) keepdims=keepdim dtype=dtype(dtype) "
         "-> Out!",
         "Where the largest value is.")
FUNCTION("argmin", "x, axis=None, keepdim=False, dtype='int64', name=None",
         "arg_min: X=x axis=or(axis,0) flatten=missing(axis) keepdims=keepdim dtype=dtype(dtype) "
         "-> Out!",
         "Where the smallest value is.")
FUNCTION("argsort", "x, axis=-1, descending=False, name=None",
         "argsort: X=x axis=axis descending=descending -> Out~ Indices:int64!",
         "The order that sorts x.")
FUNCTION("sort", "x, axis=-1, descending=False, name=None",
         "argsort: X=x axis=axis descending=descending -> Out Indices:int64!~",
         "x sorted along the axis.")
FUNCTION("topk", "x, k, axis=None, largest=True, sorted=True, name=None",
         "top_k_v2: X=x largest=largest sorted=sorted axis=or(axis,-1) k|K=k -> Out Indices:int64! "
         "as top_k_v2",
         "The k largest (smallest) values along the axis and where they are.")
FUNCTION("masked_select", "x, mask, name=None", "masked_select: X=x Mask=mask -> Y",
         "The elements where the mask holds.")
FUNCTION("index_select", "x, index, axis=0, name=None", "index_select: X=x Index=index dim=axis",
         "Slices by number along the axis.")
