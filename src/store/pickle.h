/* Python pickles of a dict name -> numpy array: the .pdparams and .pdopt files of fluid.save,
 * paddle.static.save and paddle.save.
 *
 * Reading (protocols 2 to 5) executes nothing: a small stack machine knows the opcodes
 * and the handful of globals that numpy arrays need, and refuses every other global by name. Work,
 * memory and nesting are bounded by the size of the file. Writing gives protocol 2, byte for byte
 * what Python 3.7 with numpy 1.x writes for the same dict, so that every Paddle reads it. */
#ifndef STORE_PICKLE_H
#define STORE_PICKLE_H

#include "store/file.h"
#include "store/state.h"

/* Does it start like a pickle (0x80, protocol)? */
bool pickle_is(const uint8_t *bytes, size_t n);
enum skiff_status pickle_decode(const uint8_t *bytes, size_t n, const char *what, struct state *out,
                                struct skiff_error *err);
enum skiff_status pickle_file_read(const char *path, struct state *out, struct skiff_error *err);
/* The same, compared with what its manifest says. */
enum skiff_status pickle_file_read_checked(const char *path, const struct file_sum *want,
                                           struct state *out, struct skiff_error *err);

/* A pickle whose arrays are asked for one at a time: the others take no memory. */
struct pickle_file;
/* Without the checks of a manifest. The file must keep its length until pickle_file_close. */
enum skiff_status pickle_file_open(const char *path, struct pickle_file **out,
                                   struct skiff_error *err);
void pickle_file_close(struct pickle_file *f); /* NULL is fine */
/* As state_find_variable; *out NULL: it is not there. Valid until the next call. */
enum skiff_status pickle_file_find(struct pickle_file *f, const char *name,
                                   const struct state_entry **out, struct skiff_error *err);

struct skiff_pickle;
/* Any object (skiff/io.h); takes ownership of the bytes. */
enum skiff_status pickle_object_read(struct buf *bytes, const char *what, struct skiff_pickle **out,
                                     struct skiff_error *err);

/* Element types that numpy has (bfloat16 is written as uint16, as in Paddle); row-major. */
enum skiff_status pickle_write(struct file_writer *w, const struct state *s,
                               struct skiff_error *err);
/* What a tensor's values take in such a file: a byte from 0x80 on takes two, so random floats take
 * about one and a half times their size. Values that are not here are guessed so. */
int64_t pickle_values_bytes(const struct tensor *t);
enum skiff_status pickle_file_write(const char *path, const struct state *s,
                                    struct skiff_error *err);

#endif
