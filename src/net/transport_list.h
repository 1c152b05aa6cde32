/* One line per transport: TRANSPORT(name). */
TRANSPORT(zmq)
TRANSPORT(ipc)
TRANSPORT(inproc)
TRANSPORT(fault)
