/* Log lines, written only at the roots (commands): time, level, role, message key=value. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

#include <stdbool.h>

void log_set_level(enum log_level level);
bool log_shows(enum log_level level); /* whether lines of this level are written */
/* What makes text of this level stand out, and what ends it: escape codes when stderr is a terminal
 * and the user wants colours (https://no-color.org: NO_COLOR), otherwise nothing. */
const char *log_colour(enum log_level level);
const char *log_plain(void);
void log_set_role(const char *role); /* e.g. "trainer.0"; copied, 31 characters at most */
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Also tells every line, those below the level too, to `tell`, which must not log; NULL: nobody.
 * Called by the thread that logs, one at a time. */
void log_listen(void (*report)(void *user, enum log_level level, const char *text), void *user);

#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)
#define log_info(...) log_line(LOG_INFO, __VA_ARGS__)
#define log_warn(...) log_line(LOG_WARN, __VA_ARGS__)
#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)

#endif
