/* What a run ran on. What cannot be found out stays empty or 0. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <skiff/version.h>

#include "report/run_report.h"

/* "model name : Intel(R) ..." of x86; other machines say it otherwise or not at all. */
static void read_cpu(char *out, size_t capacity)
{
    char line[512];
    FILE *f = fopen("/proc/cpuinfo", "r");
    out[0] = 0;
    while (f && !out[0] && fgets(line, sizeof(line), f)) {
        char *value = strchr(line, ':');
        if (value && (!strncmp(line, "model name", 10) || !strncmp(line, "Model", 5))) {
            value += strspn(value, ": \t");
            snprintf(out, capacity, "%.*s", (int)strcspn(value, "\n"), value);
        }
    }
    if (f)
        fclose(f);
}

void run_machine_read(struct run_report *r)
{
    struct run_machine *m = &r->machine;
    struct utsname system;
    struct rusage usage;
    if (!m->skiff[0]) {
        char cpu[256];
        read_cpu(cpu, sizeof(cpu));
        if (uname(&system) == 0) {
            m->host = run_text(r, system.nodename);
            m->system =
                arena_printf(&r->arena, "%s %s %s", system.sysname, system.release, system.machine);
        }
        m->cpu = run_text(r, cpu);
        m->skiff = run_text(r, skiff_version());
        m->compiler = run_text(r, __VERSION__);
        m->cores = sysconf(_SC_NPROCESSORS_ONLN);
        m->memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    }
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        m->peak_memory = (int64_t)usage.ru_maxrss * 1024;
}
