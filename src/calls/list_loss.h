/* paddle.nn.functional: losses of one op, or of a plain sequence.
 * The notation is told in calls/row.h. */
FUNCTION("nn.functional.log_loss", "input, label, epsilon=0.0001, name=None",
         "log_loss: Predicted=input Labels=label epsilon=epsilon -> Loss",
         "-label * log(input + eps) - (1 - label) * log(1 - input + eps)")
FUNCTION("nn.functional.square_error_cost", "input, label",
         "elementwise_sub: X=input Y=label; square: X=.", "(input - label)^2")
