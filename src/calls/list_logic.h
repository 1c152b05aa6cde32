/* paddle.*: comparisons and truth values. Notation: calls/row.h. */
FUNCTION("equal", "x, y, name=None", "equal: X=x Y=fill(y,x) axis=-1 -> Out!",
         "equal, element by element; y may be a number.")
FUNCTION("not_equal", "x, y, name=None", "not_equal: X=x Y=fill(y,x) axis=-1 -> Out!",
         "not_equal, element by element; y may be a number.")
FUNCTION("less_than", "x, y, name=None", "less_than: X=x Y=fill(y,x) axis=-1 -> Out!",
         "less_than, element by element; y may be a number.")
FUNCTION("less_equal", "x, y, name=None", "less_equal: X=x Y=fill(y,x) axis=-1 -> Out!",
         "less_equal, element by element; y may be a number.")
FUNCTION("greater_than", "x, y, name=None", "greater_than: X=x Y=fill(y,x) axis=-1 -> Out!",
         "greater_than, element by element; y may be a number.")
FUNCTION("greater_equal", "x, y, name=None", "greater_equal: X=x Y=fill(y,x) axis=-1 -> Out!",
         "greater_equal, element by element; y may be a number.")
FUNCTION("logical_and", "x, y, out=None, name=None", "logical_and: X=x Y=y -> Out=out",
         "logical_and, element by element.")
FUNCTION("logical_or", "x, y, out=None, name=None", "logical_or: X=x Y=y -> Out=out",
         "logical_or, element by element.")
FUNCTION("logical_xor", "x, y, out=None, name=None", "logical_xor: X=x Y=y -> Out=out",
         "logical_xor, element by element.")
FUNCTION("bitwise_and", "x, y, out=None, name=None", "bitwise_and: X=x Y=y -> Out=out",
         "bitwise_and, element by element.")
FUNCTION("bitwise_or", "x, y, out=None, name=None", "bitwise_or: X=x Y=y -> Out=out",
         "bitwise_or, element by element.")
FUNCTION("bitwise_xor", "x, y, out=None, name=None", "bitwise_xor: X=x Y=y -> Out=out",
         "bitwise_xor, element by element.")
FUNCTION("logical_not", "x, out=None, name=None", "logical_not: X=x -> Out=out",
         "not, element by element.")
FUNCTION("is_empty", "x, name=None", "is_empty: X=x -> Out!", "Whether x has no elements.")
