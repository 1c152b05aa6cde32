/* paddle.*: square matrices in batches. Notation: calls/row.h. */
FUNCTION("inverse", "x, name=None", "inverse: Input=x -> Output", "The inverse.")
FUNCTION("linalg.det", "x, name=None", "determinant: Input=x as determinant", "The determinant.")
FUNCTION("linalg.slogdet", "x, name=None", "slogdeterminant: Input=x as slogdeterminant",
         "The sign and the logarithm of the determinant's amount, in one tensor.")
FUNCTION("linalg.cholesky", "x, upper=False, name=None", "cholesky: X=x upper=upper",
         "The triangle whose product with its transpose is x.")
FUNCTION("linalg.solve", "x, y, name=None", "solve: X=x Y=y", "The out with x @ out = y.")
FUNCTION("linalg.triangular_solve",
         "x, y, upper=True, transpose=False, unitriangular=False, name=None",
         "triangular_solve: X=x Y=y upper=upper transpose=transpose unitriangular=unitriangular",
         "The out with x @ out = y, where only a triangle of x is read.")
FUNCTION("linalg.cholesky_solve", "x, y, upper=False, name=None",
         "call linalg.triangular_solve: x=y y=x upper=upper transpose=upper; call "
         "linalg.triangular_solve: x=y y=. upper=upper transpose=not(upper)",
         "The out with A @ out = x, where y is the triangle that cholesky gave for A.")
