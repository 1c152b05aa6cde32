/* One line per command, in the order of `skiff --help`. */
COMMAND(replay, "run recorded cases and compare every value with what real Paddle gave")
COMMAND(inspect, "print what is in a program, model, tensor or pickle file; list the ops")
COMMAND(train, "train a model from a config, save it after every epoch")
COMMAND(infer, "judge saved epochs on test data: AUC, log loss, calibration")
