/* What the system knows of hosts, addresses and ports.
 *
 * Free ports are taken below the range from which the system draws the local ports of outgoing
 * connections: a port from that range could be given to a worker that dials it before the server
 * listens, which would connect the worker to itself. They are found by binding all of them at once,
 * so that they differ. The process that listens at a port is read from /proc, as far as the system
 * shows it. */
#include "net/host.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/secret.h"

/* A listening socket at a port of the loopback; -1. */
static int hold_port(int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                            .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, 1) < 0)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Below the range of local ports of outgoing connections: a port that a server will listen at must
 * not become the local port of a connection meanwhile - even of a worker's connection to this very
 * port, which would connect to itself. */
static void port_range(int *low, int *high)
{
    FILE *f = fopen("/proc/sys/net/ipv4/ip_local_port_range", "r");
    *low = 10240;
    *high = 32768;
    if (f) {
        if (fscanf(f, "%d", high) != 1)
            *high = 32768;
        fclose(f);
    }
    if (*high < *low + 1000) {
        *low = 1025;
        *high = 65536;
    }
}

/* Between the choice and the server's listening another process could choose the same port. So this
 * process holds a name for it (a local socket, until the process ends), and others that choose at
 * the same time find the name in use. */
static bool reserve_port(int port)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int n = snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, "skiff-port-%d", port);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return true;
    if (bind(fd, (struct sockaddr *)&a,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1) + (socklen_t)n) == 0)
        return true; /* fd stays open on purpose */
    bool taken = errno == EADDRINUSE;
    close(fd);
    return !taken;
}

/* All sockets are open at the same time, so that no port occurs twice. */
enum skiff_status host_free_ports(int n, int *out, struct skiff_error *err)
{
    int *fds = mem_alloc_or_die((size_t)(n + 1) * sizeof(*fds)), made = 0, low, high;
    enum skiff_status status = SKIFF_OK;
    port_range(&low, &high);
    for (int tries = 0; made < n && tries < 1000 + 10 * n; tries++) {
        uint32_t random;
        secret_random(&random, sizeof(random));
        out[made] = low + (int)(random % (uint32_t)(high - low));
        fds[made] = hold_port(out[made]);
        if (fds[made] >= 0 && !reserve_port(out[made]))
            close(fds[made]);
        else
            made += fds[made] >= 0;
    }
    if (made < n)
        status =
            error_set_sys(err, "no free port for process %d from %d to %d", made, low, high - 1);
    while (made > 0)
        close(fds[--made]);
    free(fds);
    return status;
}

/* ---- the process that listens at a port ---- */

/* The socket's inode of the listener at a port, from /proc/net/tcp and tcp6; 0: none visible. */
static unsigned long listener_inode(const char *table, int port)
{
    char line[512];
    unsigned long found = 0;
    FILE *f = fopen(table, "r");
    if (!f)
        return 0;
    while (!found && fgets(line, sizeof(line), f)) {
        unsigned local_port, state;
        unsigned long inode;
        if (sscanf(line, " %*d: %*[0-9A-Fa-f]:%x %*s %x %*s %*s %*s %*s %*s %lu", &local_port,
                   &state, &inode) == 3 &&
            (int)local_port == port && state == 0x0A)
            found = inode;
    }
    fclose(f);
    return found;
}

static bool process_has_socket(const char *pid, unsigned long inode)
{
    char path[300], target[128], want[64];
    bool has = false;
    snprintf(path, sizeof(path), "/proc/%.20s/fd", pid);
    snprintf(want, sizeof(want), "socket:[%lu]", inode);
    DIR *d = opendir(path);
    if (!d)
        return false;
    for (struct dirent *e; !has && (e = readdir(d));) {
        snprintf(path, sizeof(path), "/proc/%.20s/fd/%.20s", pid, e->d_name);
        ssize_t n = readlink(path, target, sizeof(target) - 1);
        if (n > 0) {
            target[n] = 0;
            has = !strcmp(target, want);
        }
    }
    closedir(d);
    return has;
}

/* "process 4711 (python3)"; "another program" when it is not visible. */
static void describe_owner(int port, char *out, size_t capacity)
{
    unsigned long inode = listener_inode("/proc/net/tcp", port);
    snprintf(out, capacity, "another program");
    if (!inode)
        inode = listener_inode("/proc/net/tcp6", port);
    DIR *d = inode ? opendir("/proc") : NULL;
    if (!d)
        return;
    for (struct dirent *e; (e = readdir(d));) {
        char path[300], name[64] = "";
        if (!isdigit((unsigned char)e->d_name[0]) || !process_has_socket(e->d_name, inode))
            continue;
        snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
        FILE *f = fopen(path, "r");
        if (f && fgets(name, sizeof(name), f))
            name[strcspn(name, "\n")] = 0;
        if (f)
            fclose(f);
        snprintf(out, capacity, "process %.20s (%s)", e->d_name, name);
        break;
    }
    closedir(d);
}

static enum skiff_status try_bind(const struct addrinfo *a, const char *endpoint, int port,
                                  struct skiff_error *err)
{
    int on = 1, fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char who[128];
    if (fd < 0)
        return error_set_sys(err, "%s: no socket", endpoint);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    bool taken = bind(fd, a->ai_addr, a->ai_addrlen) < 0 || listen(fd, 1) < 0;
    int why = errno;
    close(fd);
    if (!taken)
        return SKIFF_OK;
    errno = why;
    if (why == EADDRNOTAVAIL)
        return error_set(err, SKIFF_NOT_FOUND,
                         "%s is not an address of this machine: no server can listen there. Use an "
                         "address that `ip address` lists here",
                         endpoint);
    if (why != EADDRINUSE)
        return error_set_sys(err, "cannot listen at %s", endpoint);
    describe_owner(port, who, sizeof(who));
    return error_set(err, SKIFF_STATE,
                     "port %d of %s is in use by %s; end it, or choose another port", port,
                     endpoint, who);
}

enum skiff_status host_port_check(const char *endpoint, struct skiff_error *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *list = NULL;
    struct address a;
    char port[16];
    TRY(address_parse(endpoint, &a, err));
    snprintf(port, sizeof(port), "%u", a.port);
    int failed = getaddrinfo(a.family == ADDRESS_ANY ? NULL : a.host, port, &hints, &list);
    if (failed)
        return error_set(err, SKIFF_NOT_FOUND,
                         "the host of %s cannot be found: %s. Correct the name, or use an address",
                         endpoint, gai_strerror(failed));
    enum skiff_status status = try_bind(list, endpoint, a.port, err);
    freeaddrinfo(list);
    return status;
}

/* ---- names ---- */

const char *host_unknown(const struct address *a)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    if (a->family != ADDRESS_NAME)
        return NULL;
    int failed = getaddrinfo(a->host, NULL, &hints, &list);
    if (failed)
        return gai_strerror(failed);
    freeaddrinfo(list);
    return NULL;
}

static bool same_address(const struct sockaddr *a, const struct sockaddr *b)
{
    if (a->sa_family != b->sa_family)
        return false;
    if (a->sa_family == AF_INET)
        return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
               ((const struct sockaddr_in *)b)->sin_addr.s_addr;
    return a->sa_family == AF_INET6 && !memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
                                               &((const struct sockaddr_in6 *)b)->sin6_addr, 16);
}

bool host_is_loopback(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)a)->sin_addr.s_addr) >> 24 == 127;
    return a->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)a)->sin6_addr);
}

bool host_is_reachable(const char *endpoint)
{
    struct address a;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    if (address_parse(endpoint, &a, NULL) < 0 || a.family == ADDRESS_ANY ||
        getaddrinfo(a.host, NULL, &hints, &list) != 0)
        return true;
    bool reachable = false;
    for (struct addrinfo *i = list; i; i = i->ai_next)
        reachable = reachable || !host_is_loopback(i->ai_addr);
    freeaddrinfo(list);
    return reachable;
}

bool host_is_any(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET)
        return ((const struct sockaddr_in *)a)->sin_addr.s_addr == htonl(INADDR_ANY);
    return a->sa_family == AF_INET6 &&
           IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)a)->sin6_addr);
}

bool host_same(const char *a, const char *b)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *la = NULL, *lb = NULL;
    bool same = false;
    if (!getaddrinfo(a, NULL, &hints, &la) && !getaddrinfo(b, NULL, &hints, &lb))
        for (struct addrinfo *x = la; x && !same; x = x->ai_next)
            for (struct addrinfo *y = lb; y && !same; y = y->ai_next)
                same = same_address(x->ai_addr, y->ai_addr);
    if (la)
        freeaddrinfo(la);
    if (lb)
        freeaddrinfo(lb);
    return same;
}

bool host_is_here(const char *host)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    struct ifaddrs *interfaces = NULL;
    bool here = false;
    if (getaddrinfo(host, NULL, &hints, &list))
        return false;
    for (struct addrinfo *a = list; a && !here; a = a->ai_next)
        here = host_is_loopback(a->ai_addr);
    if (!here && !getifaddrs(&interfaces))
        for (struct addrinfo *a = list; a && !here; a = a->ai_next)
            for (struct ifaddrs *i = interfaces; i && !here; i = i->ifa_next)
                here = i->ifa_addr && same_address(a->ai_addr, i->ifa_addr);
    if (interfaces)
        freeifaddrs(interfaces);
    freeaddrinfo(list);
    return here;
}

/* A connected datagram socket gets a local address from the kernel's routes. */
static bool route_from(const struct addrinfo *to, char *out)
{
    struct sockaddr_storage own = {0};
    socklen_t n = sizeof own;
    int fd = socket(to->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool ok = fd >= 0 && !connect(fd, to->ai_addr, to->ai_addrlen) &&
              !getsockname(fd, (struct sockaddr *)&own, &n) &&
              !getnameinfo((struct sockaddr *)&own, n, out, ADDRESS_TEXT, NULL, 0, NI_NUMERICHOST);
    if (fd >= 0)
        close(fd);
    return ok;
}

enum skiff_status host_toward(const struct address *peer, char *out, struct skiff_error *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_DGRAM}, *list = NULL;
    char port[16];
    snprintf(port, sizeof port, "%u", peer->port);
    int failed = getaddrinfo(peer->host, port, &hints, &list);
    if (failed)
        return error_set(err, SKIFF_NOT_FOUND,
                         "the host %s cannot be found: %s. Correct the name, or use an address",
                         peer->host, gai_strerror(failed));
    bool found = false;
    for (struct addrinfo *a = list; a && !found; a = a->ai_next)
        found = route_from(a, out);
    freeaddrinfo(list);
    return found ? SKIFF_OK : error_set_sys(err, "this machine has no route to %s", peer->host);
}

bool host_is_own_end(int fd)
{
    struct sockaddr_storage here = {0}, there = {0};
    socklen_t nhere = sizeof here, nthere = sizeof there;
    return getsockname(fd, (struct sockaddr *)&here, &nhere) == 0 &&
           getpeername(fd, (struct sockaddr *)&there, &nthere) == 0 && nhere == nthere &&
           memcmp(&here, &there, nhere) == 0;
}
