/* One line per command, in the order of `skiff --help`. */
COMMAND(replay, "run recorded cases and compare every value with what real Paddle gave")
COMMAND(inspect, "print what is in a program, model, tensor or pickle file; list the ops")
