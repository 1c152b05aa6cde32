/* One line per command, in the order of `skiff --help`. */
COMMAND(train, "train a model from a config, save it after every epoch")
COMMAND(infer, "judge saved epochs on test data: AUC, log loss, calibration")
COMMAND(check_data, "read data as training would; tell bad lines and what is in the slots")
COMMAND(synth, "write Criteo-shaped rows of a planted model and the best AUC there is")
COMMAND(prepare, "split raw Criteo rows, learn quantiles and vocabulary")
COMMAND(bench, "measure this machine and the share of its speed that training reaches")
COMMAND(replay, "run recorded cases and compare every value with what real Paddle gave")
COMMAND(inspect, "print what is in a program, model, tensor or pickle file; list the ops")
