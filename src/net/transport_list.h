/* One line per transport: TRANSPORT(name). */
TRANSPORT(tcp)
TRANSPORT(ipc)
TRANSPORT(inproc)
TRANSPORT(fault)
