/* What Skiff has, as text: ops, layers of networks in YAML, functions of Paddle 2.x.
 * Everything is read from the tables that programs run by, so the text cannot differ from them.
 * Name NULL: all, a line each. NOT_FOUND: none of that name; the message suggests one. */
#ifndef INSPECT_CATALOGUE_H
#define INSPECT_CATALOGUE_H

#include "base/buf.h"
#include "base/error.h"

enum skiff_status catalogue_ops(const char *name, struct buf *out, struct skiff_error *err);
enum skiff_status catalogue_layers(const char *name, struct buf *out, struct skiff_error *err);
/* name: with or without "paddle." */
enum skiff_status catalogue_functions(const char *name, struct buf *out, struct skiff_error *err);

#endif
