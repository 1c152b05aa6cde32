/* One line per transport: TRANSPORT(name). */
TRANSPORT(zmq)
TRANSPORT(inproc)
TRANSPORT(fault)
