/* One line per reader: READER(class). */
READER(read_multislot)
READER(read_criteo)
READER(read_slot_text)
READER(read_sign_slot)
READER(read_libsvm)
READER(read_libffm)
READER(read_csv)
READER(read_binary)
