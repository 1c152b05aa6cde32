/* paddle.*: products of matrices. Notation: calls/row.h. */
FUNCTION("mm", "input, mat2, name=None", "matmul_v2: X=input Y=mat2",
         "The product of matrices; batches are repeated where they fit.")
FUNCTION("bmm", "x, y, name=None", "bmm: X=x Y=y", "Products of two batches of matrices.")
FUNCTION("dot", "x, y, name=None", "dot: X=x Y=y", "Inner products of vectors.")
FUNCTION("matmul", "x, y, transpose_x=False, transpose_y=False, name=None",
         "matmul_v2: X=real(x) Y=real(y) trans_x=transpose_x trans_y=transpose_y as matmul_v2; "
         "cast: X=. in_dtype=dtype('float64') out_dtype=dtype_of(x) if ints(x)",
         "The product of matrices; batches are repeated where they fit.")
