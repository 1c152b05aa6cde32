/* paddle.*: products of matrices. The notation is told in calls/row.h. */
FUNCTION("mm", "input, mat2, name=None", "matmul_v2: X=input Y=mat2",
         "The product of matrices; batches are repeated where they fit.")
FUNCTION("bmm", "x, y, name=None", "bmm: X=x Y=y", "Products of two batches of matrices.")
FUNCTION("dot", "x, y, name=None", "dot: X=x Y=y", "Inner products of vectors.")
