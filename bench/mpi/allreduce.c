/* MPI_Allreduce of float32 between the ranks of mpirun, for comparison (bench/collective.c). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 4000

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {4096, 1700000, (size_t)64 << 20};
    static double took[ROUNDS];
    double seconds = argc > 1 ? atof(argv[1]) : 6;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int s = 0; s < 3; s++) {
        int n = 0, more = 1, repeat = sizes[s] < 65536 ? 20 : 1;
        float *data = aligned_alloc(4096, (sizes[s] + 4095) & ~(size_t)4095);
        memset(data, 0, sizes[s]);
        double start = MPI_Wtime();
        while (more) {
            MPI_Barrier(MPI_COMM_WORLD);
            double a = MPI_Wtime();
            for (int k = 0; k < repeat; k++)
                MPI_Allreduce(MPI_IN_PLACE, data, (int)(sizes[s] / 4), MPI_FLOAT, MPI_SUM,
                              MPI_COMM_WORLD);
            took[n++] = (MPI_Wtime() - a) / repeat;
            more = n < ROUNDS && (n < 5 || MPI_Wtime() - start < seconds / 6);
            MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
        }
        qsort(took, (size_t)n, sizeof *took, compare);
        if (rank == 0)
            printf("%9zu bytes: MPI_Allreduce %9.1f us (median %9.1f)\n", sizes[s], took[0] * 1e6,
                   took[n / 2] * 1e6);
        free(data);
    }
    MPI_Finalize();
    return 0;
}
