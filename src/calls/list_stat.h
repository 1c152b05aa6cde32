/* paddle.*: statistics. Notation: calls/row.h. */
FUNCTION("mean", "x, axis=None, keepdim=False, name=None",
         "reduce_mean: X=x dim=axes(x,axis) keep_dim=keepdim reduce_all=whole(x,axis)",
         "The mean over the axes (None: over everything).")
FUNCTION("numel", "x, name=None", "size: Input=x -> Out:int64", "How many elements.")
