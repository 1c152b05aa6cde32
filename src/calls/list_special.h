/* paddle.*: special functions of one op. Notation: calls/row.h. */
FUNCTION("lgamma", "x, name=None", "lgamma: X=x", "lgamma of every element.")
FUNCTION("digamma", "x, name=None", "digamma: X=x", "digamma of every element.")
FUNCTION("erfinv", "x, name=None", "erfinv: X=x", "erfinv of every element.")
FUNCTION("i0", "x, name=None", "i0: x=x -> out", "Bessel's i0 of every element.")
FUNCTION("i0e", "x, name=None", "i0e: x=x -> out", "Bessel's i0e of every element.")
FUNCTION("i1", "x, name=None", "i1: x=x -> out", "Bessel's i1 of every element.")
FUNCTION("i1e", "x, name=None", "i1e: x=x -> out", "Bessel's i1e of every element.")
FUNCTION("polygamma", "x, n, name=None",
         "derivative(n); call digamma: x=x unless true(n); polygamma: x=x n=n -> out if true(n)",
         "The n-th derivative of digamma.")
FUNCTION("nextafter", "x, y, name=None", "nextafter: x=x y=y -> out!",
         "The next number after x towards y.")
