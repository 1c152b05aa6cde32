/* Numbers as printf's %.*g prints them, byte for byte, several times as fast: files of tables are
 * mostly that. */
#ifndef BASE_PRINT_G_H
#define BASE_PRINT_G_H

#include <stddef.h>

#define PRINT_G_MAX 32 /* room that is needed, with a zero behind it, for up to 17 digits */

/* How many characters; a zero comes behind them. digits: 1 to 17. */
size_t print_g(char *out, double x, int digits);

#endif
