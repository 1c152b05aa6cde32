/* One line per SGD rule of tables. */
SGD_RULE(naive)
SGD_RULE(adagrad)
SGD_RULE(adagrad_v2)
SGD_RULE(std_adagrad)
SGD_RULE(adam)
SGD_RULE(shared_adam)
