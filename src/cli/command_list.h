/* One line per command, in the order of `skiff --help`. */
COMMAND(replay, "run recorded cases and compare every value with what real Paddle gave")
