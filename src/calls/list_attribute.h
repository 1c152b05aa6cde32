/* paddle.*: what tensors are. Notation: calls/row.h. */
FUNCTION("shape", "input", "shape: Input=input -> Out:int32!",
         "The shape, as a tensor that is known when the program runs.")
