/* By which reader (reader_list.h) a line of text could be read, by its form alone: for advice, when
 * a program of the user's reads it slowly. Any thread. */
#ifndef DATA_LINE_FORMAT_H
#define DATA_LINE_FORMAT_H

#include <stddef.h>

/* The name of a reader: slot_text, criteo, libsvm, libffm or csv; NULL: none of them. The text ends
 * with a zero byte. */
const char *line_format(const char *line);
/* Of the first line of a file, which may be compressed; NULL also when it cannot be read. */
const char *file_line_format(const char *path);

#endif
