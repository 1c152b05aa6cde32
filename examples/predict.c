/* Predicts with a run that `skiff init` and `skiff train` have left, row by row, as a service does:
 *
 *     build/examples/predict RUN column=value [column=value ...]     one row of named values
 *     build/examples/predict RUN < rows.csv                          rows with a header line
 *
 * What looks like a number is one; columns that are not given are missing. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <skiff/run.h>

static struct skiff_run_value value_of(const char *text)
{
    char *end;
    double number = strtod(text, &end);
    return (struct skiff_run_value){.text = *end || !*text ? text : NULL, .number = number};
}

static int predict_named(struct skiff_run *run, int n, char **named, struct skiff_error *err)
{
    int columns = skiff_run_columns(run);
    double p;
    struct skiff_run_value *row = calloc((size_t)columns + 1, sizeof *row);
    if (!row)
        return -1;
    for (int i = 0; i < columns; i++)
        row[i].number = NAN; /* missing */
    for (int i = 0; i < n; i++) {
        char *equals = strchr(named[i], '=');
        if (equals)
            *equals = '\0';
        int at = skiff_run_find_column(run, named[i]);
        if (!equals || at < 0)
            fprintf(stderr, "predict: %s: no such column; ignored\n", named[i]);
        else
            row[at] = value_of(equals + 1);
    }
    int status = skiff_run_predict_values(run, row, 1, &p, err);
    if (status == SKIFF_OK)
        printf("%.6g\n", p);
    free(row);
    return status;
}

static int predict_lines(struct skiff_run *run, char **line, size_t *size, struct skiff_error *err)
{
    double p;
    while (getline(line, size, stdin) > 0) {
        const char *row = *line;
        int status = skiff_run_predict_text(run, &row, 1, &p, err);
        if (status < 0)
            return status;
        printf("%.6g\n", p);
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct skiff_error err = {0};
    struct skiff_run_options options = {0};
    char *line = NULL;
    size_t size = 0;
    if (argc < 2 || (argc == 2 && getline(&line, &size, stdin) < 1))
        return fprintf(stderr, "usage: predict RUN [column=value ...]\n"), 2;
    options.header = line; /* NULL: the table's own order */
    struct skiff_run *run = skiff_run_open(argv[1], &options, &err);
    if (run && argc > 2)
        predict_named(run, argc - 2, argv + 2, &err);
    else if (run)
        predict_lines(run, &line, &size, &err);
    if (err.code < 0)
        fprintf(stderr, "predict: %s\n", err.message);
    skiff_run_close(run);
    free(line);
    return err.code < 0;
}
